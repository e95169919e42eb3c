// Benchmarks of a whole GPT: its training step, alone and on a busy machine, and the writing of
// tokens. Nothing watches them; where the time of a step goes is what profile.h tells.
#pragma once

#include <tapestry/nn/bench/measurement.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/models/gpt.h>

#include <atomic>
#include <thread>

namespace tapestry::bench {

// ---- the training step --------------------------------------------------------------------------

// On random tokens, as train() takes it.

/// The training step to measure.
struct StepOptions {
    GPTConfig model{.vocab = 65};  ///< on random tokens
    std::int64_t batch = 12;       ///< sequences per step
    std::int64_t steps = 50;       ///< that count
    std::int64_t warm_up = 5;      ///< before them
};

/// The speed of a training step.
struct StepRow {
    Measurement measurement;       ///< of the step as a whole
    std::int64_t parameters = 0;   ///< number of the model's parameters
    double tokens_per_second = 0;  ///< of the median step
    double fastest_flops = 0;      ///< of the fastest step
};

/// The seconds of every step that counts, in order.
struct TakenSteps {
    std::vector<double> seconds;  ///< one per step
    std::int64_t parameters = 0;  ///< number of the model's parameters
};

/// Throws ValueError for a model that cannot be made.
TakenSteps take_steps(const StepOptions& options);
/// The same, in one row. Throws ValueError for a model that cannot be made.
StepRow measure_step(const StepOptions& options);

// ---- on a busy machine --------------------------------------------------------------------------

// Training steps on a machine that others use, too: the same steps, quiet and with a core that is
// kept busy, in turn. A step whose threads wait for one another takes as long as the slowest of
// them, and one that the system has set aside comes back after milliseconds: the 95th percentile
// tells.

/// Keeps a core busy while it lives, as another program's endless loop would: a thread that does
/// nothing but count, bound to the last core this process may use where the system can do that.
class Spinner {
public:
    Spinner();
    ~Spinner();
    Spinner(const Spinner&) = delete;
    Spinner& operator=(const Spinner&) = delete;

private:
    std::atomic<bool> spins_{false};
    std::atomic<bool> over_{false};
    std::thread thread_;
};

/// The same steps on a quiet machine, and with a core kept busy.
struct BusyOptions {
    StepOptions step;         ///< in each round and of each kind
    std::int64_t rounds = 3;  ///< of quiet steps, then busy ones
};

/// The same steps on a quiet and on a busy machine.
struct BusyRow {
    Times quiet;                  ///< seconds of a step, alone
    Times busy;                   ///< seconds of a step, beside others
    std::int64_t parameters = 0;  ///< number of the model's parameters
};

/// Throws ValueError for a model that cannot be made.
BusyRow measure_busy(const BusyOptions& options);

// ---- sampling -----------------------------------------------------------------------------------

// Writing tokens one at a time, with the cache of keys and values and without.

/// The model that writes.
struct SamplingOptions {
    GPTConfig model{.vocab = 65};          ///< untrained
    std::int64_t tokens = 256;             ///< tokens to write
    WeightType weights = WeightType::f32;  ///< type that its weights are kept in
};

/// The speed of writing tokens.
struct SamplingRow {
    Times token = {};            ///< seconds that one takes
    double bytes = 0;            ///< of weights that each has to read
    double read_speed = 0;       ///< bytes per second at which the machine reads as many
    std::size_t peak_bytes = 0;  ///< peak of the memory in tensors
    /// Tokens per second when every token computes all keys and values again.
    double tokens_per_second_without_cache = 0;
    bool same_tokens = false;     ///< with the cache and without
    std::int64_t parameters = 0;  ///< number of the model's parameters

    /// Of the weights.
    double bytes_per_second() const { return bytes / token.median; }
    /// Fraction of the machine's own reading speed.
    double of_peak() const { return bytes_per_second() / read_speed; }
};

/// An untrained model's, at temperature 0. Throws ValueError for a model that cannot be made.
SamplingRow measure_sampling(const SamplingOptions& options);

}  // namespace tapestry::bench
