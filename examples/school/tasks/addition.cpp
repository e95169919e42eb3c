#include <tapestry/examples/school/tasks/addition.h>

namespace tapestry::examples {

std::string sum_backwards(const std::string& question) {
    const std::size_t digits = question.size() / 2;
    const int sum = std::stoi(question.substr(0, digits)) + std::stoi(question.substr(digits));
    const std::string answer = fmt::format("{:0{}}", sum, digits + 1);
    return {answer.rbegin(), answer.rend()};
}

DigitTask addition_task(std::int64_t digits) {
    return {.question_length = 2 * digits,
            .answer_length = digits + 1,
            .answer = sum_backwards,
            .every = 10};
}

Score learn_to_add(const TaskOptions& options) {
    return learn_digits(addition_task(), options, 2000);
}

}  // namespace tapestry::examples
