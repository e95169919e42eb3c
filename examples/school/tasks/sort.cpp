#include <tapestry/examples/school/tasks/sort.h>

#include <algorithm>

namespace tapestry::examples {

std::string sorted(std::string digits) {
    std::sort(digits.begin(), digits.end());
    return digits;
}

DigitTask sort_task() {
    return {.question_length = 6, .answer_length = 6, .answer = sorted, .every = 4};
}

Score learn_to_sort(const TaskOptions& options) { return learn_digits(sort_task(), options, 1000); }

}  // namespace tapestry::examples
