// Sorting: a GPT reads 504172 and writes 012457. After minGPT's demo, which has three digits to
// choose from instead of ten. Looking back at what it has written, it must find the smallest digit
// that is left: attention does it in one look, by counting. Read digits.h for the training.
#pragma once

#include <tapestry/examples/tasks/digits.h>

#include <algorithm>

namespace tapestry::examples {

inline std::string sorted(std::string digits) {
    std::sort(digits.begin(), digits.end());
    return digits;
}

inline DigitTask sort_task() {
    return {.question_length = 6, .answer_length = 6, .answer = sorted, .every = 4};
}

inline const TaskOptions kSortOptions{.steps = 1500, .batch = 64, .rate = 3e-3};

inline Score learn_to_sort(const TaskOptions& options) {
    return learn_digits(sort_task(), options, 1000);
}

}  // namespace tapestry::examples
