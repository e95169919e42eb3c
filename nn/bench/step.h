// A whole training step of a GPT on random tokens, as train() takes it. Nothing watches it; where
// the time goes is what profile.h tells.
#pragma once

#include <tapestry/nn/bench/measurement.h>
#include <tapestry/nn/models/gpt.h>

namespace tapestry::bench {

struct StepOptions {
    GPTConfig model{.vocab = 65};
    std::int64_t batch = 12;
    std::int64_t steps = 50;   ///< that count
    std::int64_t warm_up = 5;  ///< before them
};

struct StepRow {
    Measurement measurement;
    std::int64_t parameters = 0;
    double tokens_per_second = 0;
    double fastest_flops = 0;  ///< of the fastest step
};

/// The seconds of every step that counts, in order.
struct TakenSteps {
    std::vector<double> seconds;
    std::int64_t parameters = 0;
};

/// Throws ValueError for a model that cannot be made.
TakenSteps take_steps(const StepOptions& options);
StepRow measure_step(const StepOptions& options);

}  // namespace tapestry::bench
