// The second part of experiment sqrt_dk: the language models that it trains with and without the
// division (sqrt_dk_text.cpp); random vectors are in sqrt_dk.cpp.
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>

#include <vector>

namespace tapestry::experiments::sqrt_dk {

std::vector<Trial> text_trials(const Setting& setting);
std::vector<Claim> text_claims();
/// Adds their tables, figures and deciding numbers.
void add_text(const Setting& setting, const Outcomes& outcomes, Report& report);

}  // namespace tapestry::experiments::sqrt_dk
