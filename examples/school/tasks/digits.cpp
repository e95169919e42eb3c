#include <tapestry/examples/school/tasks/digits.h>

#include <algorithm>

namespace tapestry::examples {

std::string draw_question(const DigitTask& task, bool for_test, Generator& generator) {
    std::string digits(static_cast<std::size_t>(task.question_length), '0');
    do {
        for (char& c : digits) c = static_cast<char>('0' + generator.below(10));
    } while (held_out(digits, task.every) != for_test);
    return digits;
}

Batch lesson(const DigitTask& task, std::int64_t size, Generator& generator) {
    std::vector<std::int64_t> inputs, targets;
    for (std::int64_t i = 0; i < size; ++i) {
        const std::string question = draw_question(task, false, generator);
        const std::string text = question + task.answer(question);
        for (std::size_t t = 0; t + 1 < text.size(); ++t) {
            inputs.push_back(text[t] - '0');
            targets.push_back(t + 1 < question.size() ? -100 : text[t + 1] - '0');
        }
    }
    const Shape shape{size, task.context()};
    return {tensor(inputs, shape), tensor(targets, shape)};
}

std::vector<std::string> write_on(const GPT& model, const Tensor& prompts, std::int64_t count) {
    GPTDecoding decoding(model);
    Tensor next = argmax(decoding.read(prompts), -1);  // [B]
    std::vector<std::string> written(static_cast<std::size_t>(prompts.size(0)));
    for (std::int64_t i = 0; i < count; ++i) {
        if (i > 0) next = argmax(decoding.next(next), -1);
        const auto digits = next.to_vector<std::int64_t>();
        for (std::size_t b = 0; b < digits.size(); ++b) {
            written[b] += static_cast<char>('0' + digits[b]);
        }
    }
    return written;
}

Score examine(const DigitTask& task, const GPT& model, std::int64_t count) {
    Generator generator(1);
    std::vector<std::string> questions;
    std::vector<std::int64_t> prompts;
    for (std::int64_t i = 0; i < count; ++i) {
        questions.push_back(draw_question(task, true, generator));
        for (const char c : questions.back()) prompts.push_back(c - '0');
    }
    const Tensor ids = tensor(prompts, {count, task.question_length});
    const auto written = write_on(model, ids, task.answer_length);
    Score score{0, count};
    for (std::size_t i = 0; i < questions.size(); ++i) {
        if (written[i] == task.answer(questions[i])) ++score.right;
    }
    return score;
}

Score learn_digits(const DigitTask& task, const TaskOptions& options, std::int64_t questions) {
    Generator generator(options.seed);
    // GPT-2's initialization is meant for a width of 768. In a narrow model its weights are so
    // small that the logits start near zero, and whether addition is learned depends on the seed.
    GPT model({.vocab = 10,
               .context = task.context(),
               .layers = 2,
               .heads = 4,
               .dim = 64,
               .deviation = 0.06},
              generator);
    fit(
        model, options,
        [&] {
            const Batch b = lesson(task, options.batch, generator);
            return model.loss(b.inputs, b.targets);
        },
        [&] { return examine(task, model, 200); });
    const Answering answering(model);
    return examine(task, model, questions);
}

// ---- addition ----------------------------------------------------------------------------------

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

// ---- sorting -----------------------------------------------------------------------------------

std::string sorted(std::string digits) {
    std::sort(digits.begin(), digits.end());
    return digits;
}

DigitTask sort_task() {
    return {.question_length = 6, .answer_length = 6, .answer = sorted, .every = 4};
}

Score learn_to_sort(const TaskOptions& options) { return learn_digits(sort_task(), options, 1000); }

}  // namespace tapestry::examples
