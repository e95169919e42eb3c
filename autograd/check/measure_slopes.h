// What the function does when elements of one input move, each by itself: the truth that a wrong
// gradient is compared with, to say what was done to it. Internal to autograd/check. Read next:
// mistakes.h.
#pragma once

#include <tapestry/autograd/check/mistakes.h>
#include <tapestry/autograd/check/subject.h>

namespace tapestry::checker {

/// Elements of an input of n at which slopes are measured: all of up to 256; else both ends, some
/// in between, and `of_interest` with its neighbours. Fewer where each takes long or fills memory.
std::vector<std::size_t> chosen_places(std::size_t n, std::size_t outputs, std::size_t of_interest);

/// Fills in symptoms.slopes at symptoms.places, for leaf `which`, and symptoms.value.
void measure_slopes(Subject& subject, std::size_t which, Symptoms& symptoms);

}  // namespace tapestry::checker
