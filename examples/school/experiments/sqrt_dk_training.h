// The trainings of experiment sqrt_dk: the same model with its scores divided and not, from the
// same start and from the one that makes up for it.
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>

namespace tapestry::experiments {

std::vector<Trial> scaling_trainings(const Setting& setting);
std::vector<Claim> training_claims();
/// Their table, their picture, and their claims' numbers.
void add_trainings(const Setting& setting, const Outcomes& outcomes, Report& report);

}  // namespace tapestry::experiments
