// Questions and answers made of digits, for a GPT: it sees both as one sequence, 504172012457, and
// learns to go on from the question. Read next: sort.h and addition.h, which ask something.
#pragma once

#include <tapestry/examples/school/tasks/task.h>

namespace tapestry::examples {

struct DigitTask {
    std::int64_t question_length;
    std::int64_t answer_length;
    std::function<std::string(const std::string& question)> answer;
    std::uint64_t every;  ///< one in so many questions is held out

    /// Tokens that the model must be able to look at: all but the last.
    std::int64_t context() const { return question_length + answer_length - 1; }
};

/// Random digits; a held-out question or one to learn from, as wanted.
std::string draw_question(const DigitTask& task, bool for_test, Generator& generator);

/// Sequences shifted by one: predict targets [B, T] from inputs [B, T]. What a question goes on
/// with before it is complete cannot be predicted and does not count (-100).
Batch lesson(const DigitTask& task, std::int64_t size, Generator& generator);

/// What the model writes after each prompt, ids [B, T]: the likeliest digit, `count` times.
std::vector<std::string> write_on(const GPT& model, const Tensor& prompts, std::int64_t count);

/// How many of `count` held-out questions are answered rightly, every digit; always the same ones.
Score examine(const DigitTask& task, const GPT& model, std::int64_t count);

/// Trains a GPT of two layers on the task; the score is of `questions` held-out ones.
Score learn_digits(const DigitTask& task, const TaskOptions& options, std::int64_t questions);

}  // namespace tapestry::examples
