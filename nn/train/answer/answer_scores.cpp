#include <tapestry/nn/train/answer/answer_scores.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/unicode.h>
#include <tapestry/core/text/utf8.h>

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tapestry {
namespace {

bool is_punctuation(char32_t c) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
}

// What Python's str.split() separates words by.
bool is_space(char32_t c) {
    return (c >= 0x9 && c <= 0xD) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

// What \w matches in Python; \b is where it changes. Articles are removed between such places.
bool is_word_character(char32_t c) {
    const unicode::Kind kind = unicode::kind_of(c);
    return c == '_' || kind == unicode::Kind::letter || kind == unicode::Kind::number;
}

// Each run of word characters that is an article becomes a space.
std::u32string without_articles(const std::u32string& text) {
    std::u32string result;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && is_word_character(text[end])) ++end;
        const std::u32string word = text.substr(at, end - at);
        const bool is_article = word == U"a" || word == U"an" || word == U"the";
        result += is_article ? U" " : word;
        if (end < text.size()) result += text[end++];
        at = end;
    }
    return result;
}

std::vector<std::string> words_of_answer(std::string_view text) {
    std::u32string letters;
    for (const char32_t c : unicode::lower_case(utf8::decode("answer", text))) {
        if (!is_punctuation(c)) letters += c;
    }
    std::vector<std::string> words;
    std::string word;
    for (const char32_t c : without_articles(letters) + U" ") {
        if (!is_space(c)) {
            utf8::append(word, c);
        } else if (!word.empty()) {
            words.push_back(std::exchange(word, {}));
        }
    }
    return words;
}

}  // namespace

std::string normalized_answer(std::string_view text) {
    std::string joined;
    for (const std::string& word : words_of_answer(text)) {
        joined += joined.empty() ? word : " " + word;
    }
    return joined;
}

bool is_exact_match(std::string_view answer, std::string_view right) {
    return normalized_answer(answer) == normalized_answer(right);
}

double answer_f1(std::string_view answer, std::string_view right) {
    const std::vector<std::string> given = words_of_answer(answer), wanted = words_of_answer(right);
    if (given.empty() || wanted.empty()) return given.empty() && wanted.empty() ? 1 : 0;
    std::map<std::string, std::int64_t> left;
    for (const std::string& word : wanted) ++left[word];
    std::int64_t same = 0;
    for (const std::string& word : given) same += left[word]-- > 0;
    if (same == 0) return 0;
    const double precision = static_cast<double>(same) / static_cast<double>(given.size());
    const double recall = static_cast<double>(same) / static_cast<double>(wanted.size());
    return 2 * precision * recall / (precision + recall);
}

void AnswerScores::add(std::string_view answer, const std::vector<std::string>& right) {
    double best_exact = 0, best_f1 = 0;
    for (const std::string& one : right) {
        best_exact = std::max(best_exact, is_exact_match(answer, one) ? 1.0 : 0.0);
        best_f1 = std::max(best_f1, answer_f1(answer, one));
    }
    exact += best_exact;
    f1 += best_f1;
    ++questions;
}

std::string to_text(const AnswerScores& scores, const std::string& of) {
    const auto n = static_cast<double>(scores.questions);
    return fmt::format("exact match {:.4f}, F1 {:.4f} over {} of {}\n", scores.exact / n,
                       scores.f1 / n, pluralize(scores.questions, "question"), utf8::printable(of));
}

std::string to_json(const AnswerScores& scores) {
    const auto n = static_cast<double>(scores.questions);
    JsonWriter json;
    json.object("questions", scores.questions, "exact_match", scores.exact / n, "f1",
                scores.f1 / n);
    return json.text();
}

}  // namespace tapestry
