// Questions and answers made of digits, for a GPT: it sees both as one sequence, 504172012457, and
// learns to continue from the question: sums of two numbers, and digits in order.
#pragma once

#include <tapestry/examples/school/tasks/task.h>

namespace tapestry::examples {

struct DigitTask {
    std::int64_t question_length;
    std::int64_t answer_length;
    std::function<std::string(const std::string& question)> answer;
    std::uint64_t every;  ///< one question in `every` is held out

    /// The context the model needs: all tokens but the last.
    std::int64_t context() const { return question_length + answer_length - 1; }
};

/// Draws random digits: a held-out question if `for_test`, otherwise a training question.
std::string draw_question(const DigitTask& task, bool for_test, Generator& generator);

/// Sequences shifted by one: predict targets [B, T] from inputs [B, T]. The question's own digits
/// are random, so they do not count as targets (-100).
Batch lesson(const DigitTask& task, std::int64_t size, Generator& generator);

/// The model's continuation of each prompt, ids [B, T]: `count` greedy digits.
std::vector<std::string> write_on(const GPT& model, const Tensor& prompts, std::int64_t count);

/// How many of `count` held-out questions have every digit right; always the same questions.
Score examine(const DigitTask& task, const GPT& model, std::int64_t count);

/// Trains a GPT of two layers on the task; the score is on `questions` held-out ones.
Score learn_digits(const DigitTask& task, const TaskOptions& options, std::int64_t questions);

// ---- addition: 845 and 367, read as 845367, are 2121, which is 1212 backwards ------------------

/// Question: two numbers of equal length, leading zeros allowed. Answer: their sum with one digit
/// more, last digit first: each digit then depends on two digits of the question and a carry that
/// the previous digit reveals; the first digit of 1212 would need the whole sum at once. After
/// minGPT's adder.
std::string sum_backwards(const std::string& question);

DigitTask addition_task(std::int64_t digits = 3);

inline const TaskOptions kAdditionOptions{.steps = 1500, .batch = 64, .rate = 3e-3};

Score learn_to_add(const TaskOptions& options);

// ---- sorting: 504172 is 012457 -----------------------------------------------------------------

/// For each digit a GPT must find the smallest one that it has not written yet; attention does that
/// in one layer, by counting. After minGPT's demo, with ten digits instead of three.
std::string sorted(std::string digits);

DigitTask sort_task();

inline const TaskOptions kSortOptions{.steps = 1500, .batch = 64, .rate = 3e-3};

Score learn_to_sort(const TaskOptions& options);

}  // namespace tapestry::examples
