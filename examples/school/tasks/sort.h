// Sorting: a GPT reads 504172 and writes 012457. After minGPT's demo, with ten digits instead of
// three. For each digit it must find the smallest one that it has not written yet; attention
// does that in one layer, by counting. Read next: digits.h, which trains it.
#pragma once

#include <tapestry/examples/school/tasks/digits.h>

namespace tapestry::examples {

std::string sorted(std::string digits);

DigitTask sort_task();

inline const TaskOptions kSortOptions{.steps = 1500, .batch = 64, .rate = 3e-3};

Score learn_to_sort(const TaskOptions& options);

}  // namespace tapestry::examples
