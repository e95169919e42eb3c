// Addition: a GPT reads 845 and 367, as 845367, and writes 2121, which is 1212 backwards.
// Backwards, because each digit then depends on two digits of the question and a carry that the
// previous digit reveals; the first digit of 1212 would need the whole sum at once. After minGPT's
// adder. Read next: digits.h, which trains it.
#pragma once

#include <tapestry/examples/school/tasks/digits.h>

namespace tapestry::examples {

/// Question: two numbers of equal length, leading zeros allowed. Answer: their sum with one digit
/// more, last digit first.
std::string sum_backwards(const std::string& question);

DigitTask addition_task(std::int64_t digits = 3);

inline const TaskOptions kAdditionOptions{.steps = 1500, .batch = 64, .rate = 3e-3};

Score learn_to_add(const TaskOptions& options);

}  // namespace tapestry::examples
