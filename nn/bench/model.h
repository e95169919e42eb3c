// Benchmarks of a whole GPT: its training step, on a quiet and on a busy machine, and sampling.
// They run unobserved; profile.h shows where a step's time goes.
#pragma once

#include <tapestry/nn/bench/measurement.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/models/gpt.h>

#include <atomic>
#include <thread>

namespace tapestry::bench {

// ---- the training step --------------------------------------------------------------------------

// Steps on random tokens, as in train().

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

/// The seconds of every measured step, in order.
struct TakenSteps {
    std::vector<double> seconds;  ///< one per step
    std::int64_t parameters = 0;  ///< number of the model's parameters
};

/// Throws ValueError for an invalid model.
TakenSteps take_steps(const StepOptions& options);
/// The same, in one row. Throws ValueError for a model that cannot be made.
StepRow measure_step(const StepOptions& options);

// ---- on a busy machine --------------------------------------------------------------------------

// Training steps on a shared machine: the same steps with all cores free and with one kept busy,
// alternating. A step whose threads wait for each other takes as long as the slowest thread, and a
// preempted thread returns only after milliseconds: look at the 95th percentile.

/// Keeps a core busy while it lives, like another program's endless loop: a counting thread, bound
/// to the last core available to this process if the system supports that.
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
    StepOptions step;         ///< per round, quiet and busy alike
    std::int64_t rounds = 3;  ///< each of quiet steps, then busy ones
};

/// The same steps on a quiet and on a busy machine.
struct BusyRow {
    Times quiet;                  ///< seconds of a step, nothing else running
    Times busy;                   ///< seconds of a step while a core is kept busy
    std::int64_t parameters = 0;  ///< number of the model's parameters
};

/// Throws ValueError for an invalid model.
BusyRow measure_busy(const BusyOptions& options);

// ---- sampling -----------------------------------------------------------------------------------

// Generates tokens one at a time, with and without the KV cache.

/// The model that writes.
struct SamplingOptions {
    GPTConfig model{.vocab = 65};          ///< untrained
    std::int64_t tokens = 256;             ///< tokens to write
    WeightType weights = WeightType::f32;  ///< type that its weights are kept in
};

/// The speed of writing tokens.
struct SamplingRow {
    Times token = {};            ///< seconds per token
    double bytes = 0;            ///< of weights that each has to read
    double read_speed = 0;       ///< bytes per second that the machine reads of as many
    std::size_t peak_bytes = 0;  ///< peak of the memory in tensors
    /// Tokens per second when every token computes all keys and values again.
    double tokens_per_second_without_cache = 0;
    bool same_tokens = false;     ///< with the cache and without
    std::int64_t parameters = 0;  ///< number of the model's parameters

    /// Speed of reading the weights.
    double bytes_per_second() const { return bytes / token.median; }
    /// Fraction of the machine's own reading speed.
    double of_peak() const { return bytes_per_second() / read_speed; }
};

/// Samples an untrained model at temperature 0. Throws ValueError for an invalid model.
SamplingRow measure_sampling(const SamplingOptions& options);

}  // namespace tapestry::bench
