// The trainings of experiment speedrun: a configuration's steps on a text, its loss on a part that
// was looked at while the recipe was made and on one that was not, and what a step takes.
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/train/training_config.h>

#include <memory>

namespace tapestry::experiments {

/// Its characters as ids. The last twentieth is for testing, the one before it for validation.
struct SpeedrunText {
    std::int64_t vocab;
    TextData data;
};

/// The file's, or that of generated stories if there is none.
std::shared_ptr<const SpeedrunText> speedrun_text(const Setting& setting);

/// All steps, as `tapestry train --seed SEED` takes them. Numbers: "validation" and "test", the
/// losses at the end. Curve: "loss", of the training, a mean over every fortieth part of the steps.
Measured train_on(const SpeedrunText& text, TrainingConfig config, std::uint64_t seed);

/// The first steps alone. Numbers: "ms", the median of a step.
Measured time_steps(const SpeedrunText& text, TrainingConfig config, std::int64_t steps,
                    std::uint64_t seed);

/// The steps and the evaluation at their end. Numbers: "seconds", of both together; "validation".
Measured time_training(const SpeedrunText& text, TrainingConfig config, std::uint64_t seed);

}  // namespace tapestry::experiments
