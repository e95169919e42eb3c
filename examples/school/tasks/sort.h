// Sorting: a GPT reads 504172 and writes 012457. After minGPT's demo, with ten digits instead of
// three. Looking back at what it has written, it must find the smallest remaining digit; attention
// does that in one layer, by counting. Read digits.h for the training.
#pragma once

#include <tapestry/examples/school/tasks/digits.h>

namespace tapestry::examples {

std::string sorted(std::string digits);

DigitTask sort_task();

inline const TaskOptions kSortOptions{.steps = 1500, .batch = 64, .rate = 3e-3};

Score learn_to_sort(const TaskOptions& options);

}  // namespace tapestry::examples
