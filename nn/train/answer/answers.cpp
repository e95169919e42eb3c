// Answers of an AnswerTask, their scores, and what people see of it.
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/models/diverged_error.h>
#include <tapestry/nn/train/answer/answer_task.h>
#include <tapestry/ops/softmax.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

struct Span {
    std::int64_t first = 0, last = 0;
    double probability = 0;
};

// The likeliest spans of at most `longest` tokens within a row's passage that neither begin nor end
// with a blank; `first` and `last` have the probabilities of each token. Of equal ones the first.
std::vector<Span> likeliest_spans(const double* first, const double* last,
                                  const PassagePlace& passage, const std::vector<bool>& is_blank,
                                  std::int64_t longest, std::int64_t most) {
    const auto blank = [&](std::int64_t token) {
        return is_blank[static_cast<std::size_t>(token - passage.first)];
    };
    std::vector<Span> best;
    const auto is_likelier = [](const Span& a, const Span& b) {
        return a.probability > b.probability;
    };
    for (std::int64_t i = passage.first; i < passage.end; ++i) {
        if (blank(i)) continue;
        for (std::int64_t j = i; j < std::min(i + longest, passage.end); ++j) {
            if (blank(j)) continue;
            const Span span{i, j, first[i] * last[j]};
            if (std::ssize(best) == most && !is_likelier(span, best.back())) continue;
            best.insert(std::upper_bound(best.begin(), best.end(), span, is_likelier), span);
            if (std::ssize(best) > most) best.pop_back();
        }
    }
    return best;
}

// The bytes from `begin` to `end`, and the rest of the characters that these are inside.
std::string_view whole_characters(std::string_view text, std::size_t begin, std::size_t end) {
    const auto is_inside = [text](std::size_t at) {
        return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
    };
    while (is_inside(begin)) --begin;
    while (is_inside(end)) ++end;
    return text.substr(begin, end - begin);
}

}  // namespace

std::vector<std::vector<FoundAnswer>> AnswerTask::find(
    const std::vector<const Example*>& rows, const std::vector<std::string_view>& passages,
    std::int64_t most) const {
    const NoGradGuard no_grad;
    const Batch batch = batch_from(rows);
    const std::vector<double> p =
        finite_outputs(softmax((*model_)(batch.inputs)).to_vector<double>());
    const std::vector<PassagePlace> places = passage_places(batch.inputs, model_->separator_id());
    const std::int64_t length = batch.inputs.size(1);
    std::vector<std::vector<FoundAnswer>> all;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const double* const first = p.data() + 2 * static_cast<std::int64_t>(r) * length;
        auto& found = all.emplace_back();
        const Example& e = *rows[r];
        const auto end_of = [&e](std::int64_t token) {  // the first may be the space before
            const auto place = static_cast<std::size_t>(token - e.passage);
            return token < e.passage
                       ? std::size_t{0}
                       : static_cast<std::size_t>(std::max<std::int64_t>(0, e.ends[place]));
        };
        const auto text_of = [&](std::int64_t begin, std::int64_t last) {
            const std::string_view text =
                whole_characters(passages[r], end_of(begin - 1), end_of(last));
            return text.substr(0, text.find_last_not_of(kBlanks) + 1);
        };
        std::vector<bool> is_blank;
        for (std::int64_t t = places[r].first; t < places[r].end; ++t) {
            is_blank.push_back(text_of(t, t).empty());
        }
        for (const Span& span : likeliest_spans(first, first + length, places[r], is_blank,
                                                config().max_answer, most)) {
            const std::string_view text = text_of(span.first, span.last);
            found.push_back(
                {std::string(text.substr(text.find_first_not_of(kBlanks))), span.probability});
        }
    }
    return all;
}

std::vector<FoundAnswer> AnswerTask::answer(std::string_view passage, std::string_view question,
                                            std::int64_t most) const {
    const Example one = example_of(passage, question);
    return find({&one}, {passage}, most)[0];
}

AnswerScores AnswerTask::score(const Questions& questions) const {
    AnswerScores scores;
    constexpr std::size_t kAtOnce = 16;
    for (std::size_t begin = 0; begin < questions.all.size(); begin += kAtOnce) {
        std::vector<Example> some;
        std::vector<std::string_view> passages;
        const std::size_t end = std::min(begin + kAtOnce, questions.all.size());
        for (std::size_t i = begin; i < end; ++i) {
            const PassageQuestion& q = questions.all[i];
            try {
                some.push_back(example_of(q.passage, q.question));
            } catch (const ValueError& error) {
                fail<IoError>("{}:{}: {}", questions.file, q.line, error.what());
            }
            passages.push_back(q.passage);
        }
        std::vector<const Example*> rows;
        for (const Example& one : some) rows.push_back(&one);
        const auto found = find(rows, passages, 1);
        for (std::size_t i = begin; i < end; ++i) {
            scores.add(found[i - begin][0].text, questions.all[i].answers);
        }
    }
    return scores;
}

// ---- what people see ----------------------------------------------------------------------------

std::vector<std::string> AnswerTask::texts(const Batch& batch, std::int64_t row) const {
    std::vector<std::string> names;
    for (const std::int64_t id :
         views::slice(batch.inputs, 0, row, row + 1).to_vector<std::int64_t>()) {
        if (id == model_->begin_id()) {
            names.emplace_back("[CLS]");
        } else if (id == model_->separator_id()) {
            names.emplace_back("[SEP]");
        } else if (id == model_->padding_id()) {
            names.emplace_back("[padding]");
        } else {
            names.push_back(id < tokenizer_->vocab_size() ? tokenizer_->decode({&id, 1})
                                                          : fmt::format("[{}]", id));
        }
    }
    return names;
}

// The model predicts a place among the tokens.
std::string AnswerTask::name_of(std::int64_t id) const { return fmt::format("token {}", id + 1); }

std::string AnswerTask::data_text() const {
    const Examples& e = examples();
    std::int64_t parts = 0;
    for (const auto* part : {&e.train, &e.held_out}) {
        parts += std::count_if(part->begin(), part->end(),
                               [](const Example& one) { return !one.is_whole; });
    }
    return fmt::format(
        "{}: {} about {}, {} tokens in the vocabulary; training on {}, validating on {}, of "
        "other passages{}",
        e.file, pluralize(std::ssize(e.questions), "question"), pluralize(e.passages, "passage"),
        tokenizer_->vocab_size(), e.train.size(), e.held_out.size(),
        parts == 0
            ? ""
            : fmt::format("; {} or end inside a token and cannot be found exactly",
                          parts == 1 ? "1 answer begins" : fmt::format("{} answers begin", parts)));
}

std::string AnswerTask::amounts() const {
    return fmt::format("{} questions to learn from, {} held out", examples().train.size(),
                       examples().held_out.size());
}

std::string AnswerTask::shape_text() const {
    const SpanConfig& c = config();
    return fmt::format("{}, {}, dim {}, {} positions, question and passage of up to {} tokens",
                       pluralize(c.layers, "layer"), pluralize(c.heads, "head"), c.dim,
                       name_of_value(c.positions), c.max_length);
}

std::vector<ExpectedLoss> AnswerTask::expected_losses() const {
    double guessing = 0, length = 0, tokens = 0;
    for (const Example& e : examples().train) {
        length += static_cast<double>(e.last - e.first + 1);
    }
    length /= static_cast<double>(examples().train.size());
    for (const Example& e : examples().held_out) {
        guessing += std::log(static_cast<double>(e.ends.size()));
        tokens += static_cast<double>(e.ends.size());
    }
    const auto n = static_cast<double>(examples().held_out.size());
    return {{"guessing", guessing / n,
             fmt::format("Every token of a passage is as likely as any other to be the first and "
                         "the last: the mean of ln(tokens), {:.0f} on average. An untrained "
                         "model's is near it.",
                         tokens / n)},
            {"knowing one end", guessing / n / 2,
             fmt::format("Knows where the answer begins and guesses where it ends. Answers have "
                         "{:.1f} tokens on average.",
                         length)}};
}

std::string AnswerTask::sample(std::int64_t, Generator&) const {
    constexpr std::size_t kMost = 8;
    const auto& held_out = examples().held_out;
    const std::size_t count = std::min(kMost, held_out.size());
    std::string lines;
    for (std::size_t i = 0; i < count; ++i) {
        const Example& one = held_out[i * held_out.size() / count];
        const PassageQuestion& q = examples().questions[one.question];
        const FoundAnswer found = find({&one}, {q.passage}, 1)[0][0];
        const bool is_right = is_exact_match(found.text, q.answers.front());
        lines += fmt::format(
            "{} {} ({:.2f}){}\n", utf8::quoted(q.question, 60), utf8::quoted(found.text, 60),
            found.probability,
            is_right ? "" : fmt::format(", right: {}", utf8::quoted(q.answers.front(), 60)));
    }
    return lines;
}

}  // namespace tapestry
