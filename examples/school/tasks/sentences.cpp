#include <tapestry/examples/school/tasks/sentences.h>

#include <algorithm>

namespace tapestry::examples {

Words choices(std::string_view list) {
    Words pieces(1);
    for (const char c : list) {
        if (c == '|') {
            pieces.emplace_back();
        } else {
            pieces.back() += c;
        }
    }
    return pieces;
}

Words fill(std::string_view pattern, const Words& nouns) {
    Words words = words_of(pattern);
    for (std::string& word : words) {
        if (word[0] >= '1' && word[0] <= '9')
            word = nouns.at(static_cast<std::size_t>(word[0] - '1'));
    }
    return words;
}

Tensor pack(const std::vector<Words>& sentences, const WordTable& table, std::int64_t length) {
    Tensor rows = full({static_cast<std::int64_t>(sentences.size()), length}, kPadding, DType::i64);
    auto* row = rows.mutable_data<std::int64_t>();
    for (const Words& words : sentences) {
        require(static_cast<std::int64_t>(words.size()) < length,
                "sentences: {} words do not fit into {} columns", words.size(), length);
        row[0] = kStart;
        for (std::size_t i = 0; i < words.size(); ++i) row[i + 1] = table.id(words[i]);
        row += length;
    }
    return rows;
}

QuestionRows pack(const std::vector<Question>& questions, const WordTable& table,
                  std::int64_t length) {
    QuestionRows rows{pack(sentences_of(questions), table, length), {}};
    rows.targets = full(rows.ids.shape(), -100, DType::i64);
    auto* row = rows.targets.mutable_data<std::int64_t>();
    for (const Question& question : questions) {
        row[question.place + 1] = table.id(question.answer);
        row += length;
    }
    return rows;
}

std::vector<Words> sentences_of(const std::vector<Question>& questions) {
    std::vector<Words> sentences;
    for (const Question& question : questions) sentences.push_back(question.words);
    return sentences;
}

std::int64_t columns_for(const std::vector<Words>& sentences) {
    std::size_t longest = 0;
    for (const Words& words : sentences) longest = std::max(longest, words.size());
    return static_cast<std::int64_t>(longest) + 1;
}

MaskedLanguageModelConfig sentence_model(const WordTable& table, std::int64_t length) {
    return {.vocab = table.size(),
            .max_length = length,
            .dim = 64,
            .heads = 4,
            .layers = 2,
            .dropout = 0,
            .padding_id = kPadding,
            .deviation = 0.08};
}

Score examine(const MaskedLanguageModel& model, const QuestionRows& questions) {
    const Tensor asked = to(ge(questions.targets, 0), DType::f64);
    const Tensor right = to(eq(argmax(model(questions.ids)), questions.targets), DType::f64);
    return {static_cast<std::int64_t>(sum(right * asked).item()), questions.ids.size(0)};
}

void learn_questions(MaskedLanguageModel& model, const TaskOptions& options,
                     const QuestionRows& learn, const QuestionRows& held_out,
                     Generator& generator) {
    fit(
        model, options,
        [&] {
            const Tensor rows = randint(0, learn.ids.size(0), {options.batch}, generator);
            return model.loss(index_select(learn.ids, 0, rows),
                              index_select(learn.targets, 0, rows));
        },
        [&] { return examine(model, held_out); });
}

}  // namespace tapestry::examples
