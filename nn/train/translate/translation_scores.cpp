#include <tapestry/nn/train/translate/translation_scores.h>

#include <tapestry/core/text/fixed_text.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/utf8.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

namespace tapestry {
namespace {

using Sentences = std::vector<std::string>;
using Words = std::vector<std::u32string>;

void check_numbers(const char* what, const Sentences& hypotheses, const Sentences& references) {
    require(hypotheses.size() == references.size(), "{}: {} hypotheses, but {} references", what,
            hypotheses.size(), references.size());
}

// White space as Python's str.split() knows it.
bool is_white(char32_t c) {
    return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_point(char32_t c) { return c == '.' || c == ','; }

// ASCII punctuation but for the apostrophe, comma, hyphen and full stop.
bool is_symbol(char32_t c) {
    return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
           (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

Words split_words(std::u32string_view text) {
    Words words;
    bool inside = false;
    for (const char32_t c : text) {
        if (is_white(c)) {
            inside = false;
        } else {
            if (!inside) words.emplace_back();
            words.back() += c;
            inside = true;
        }
    }
    return words;
}

// ---- BLEU's tokens ------------------------------------------------------------------------------

// Puts spaces into every pair of characters that `first` and `second` accept, from left to right,
// without overlap; `before`: also in front of the first.
template <class First, class Second>
std::u32string spaced(const std::u32string& text, bool before, bool after, const First& first,
                      const Second& second) {
    std::u32string to;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
            to += text[i];
            continue;
        }
        if (before) to += U' ';
        to += text[i];
        to += U' ';
        to += text[++i];
        if (after) to += U' ';
    }
    return to;
}

std::u32string replaced(std::u32string text, std::u32string_view from, std::u32string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
        text.replace(at, from.size(), to);
    }
    return text;
}

// The rules of mteval-v13a, in their order.
Words tokens_13a(std::u32string text) {
    while (!text.empty() && is_white(text.back())) text.pop_back();
    text = replaced(std::move(text), U"<skipped>", U"");
    text = replaced(std::move(text), U"-\n", U"");
    text = replaced(std::move(text), U"\n", U" ");
    text = replaced(std::move(text), U"&quot;", U"\"");
    text = replaced(std::move(text), U"&amp;", U"&");
    text = replaced(std::move(text), U"&lt;", U"<");
    text = replaced(std::move(text), U"&gt;", U">");
    std::u32string all = U" ";
    for (const char32_t c : text + U" ") {
        all += is_symbol(c) ? std::u32string{U' ', c, U' '} : std::u32string{c};
    }
    const auto no_digit = [](char32_t c) { return !is_digit(c); };
    all = spaced(all, false, true, no_digit, is_point);
    all = spaced(all, true, false, is_point, no_digit);
    all = spaced(all, false, true, is_digit, [](char32_t c) { return c == '-'; });
    return split_words(all);
}

Words tokens_of(const std::string& text, BleuTokens kind) {
    const std::u32string all = utf8::decode("text", text);
    if (kind == BleuTokens::words) return tokens_13a(all);
    Words characters;
    for (const char32_t c : all) {
        if (!is_white(c)) characters.emplace_back(1, c);
    }
    return characters;
}

// ---- counts of sequences ------------------------------------------------------------------------

// How often each sequence of n elements occurs.
template <class Sequence>
std::map<Sequence, std::int64_t> ngrams(const Sequence& all, std::size_t n) {
    std::map<Sequence, std::int64_t> counts;
    for (std::size_t i = 0; i + n <= all.size(); ++i) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i);
        ++counts[Sequence(begin, begin + static_cast<std::ptrdiff_t>(n))];
    }
    return counts;
}

template <class Counts>
std::int64_t matches(const Counts& hypothesis, const Counts& reference) {
    std::int64_t sum = 0;
    for (const auto& [sequence, count] : hypothesis) {
        const auto found = reference.find(sequence);
        if (found != reference.end()) sum += std::min(count, found->second);
    }
    return sum;
}

template <class Sequence>
double number_of(const Sequence& all, std::size_t n) {
    return all.size() < n ? 0 : static_cast<double>(all.size() - n + 1);
}

std::u32string without_white(const std::string& text) {
    std::u32string all = utf8::decode("text", text);
    std::erase_if(all, is_white);
    return all;
}

// Levenshtein's distance.
std::int64_t edits(const Words& from, const Words& to) {
    std::vector<std::int64_t> row(to.size() + 1);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = static_cast<std::int64_t>(j);
    for (std::size_t i = 1; i <= from.size(); ++i) {
        std::int64_t diagonal = row[0];
        row[0] = static_cast<std::int64_t>(i);
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const std::int64_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

}  // namespace

double corpus_bleu(const Sentences& hypotheses, const Sentences& references, BleuTokens tokens) {
    constexpr std::size_t kOrders = 4;
    check_numbers("corpus_bleu", hypotheses, references);
    std::array<double, kOrders> right{}, total{};
    double length = 0, wanted = 0;
    for (std::size_t i = 0; i < hypotheses.size(); ++i) {
        const Words hypothesis = tokens_of(hypotheses[i], tokens);
        const Words reference = tokens_of(references[i], tokens);
        length += static_cast<double>(hypothesis.size());
        wanted += static_cast<double>(reference.size());
        for (std::size_t n = 1; n <= kOrders; ++n) {
            total[n - 1] += number_of(hypothesis, n);
            right[n - 1] +=
                static_cast<double>(matches(ngrams(hypothesis, n), ngrams(reference, n)));
        }
    }
    // Without a match, or without a sequence of four tokens, it is 0.
    if (right[0] == 0 || total[kOrders - 1] == 0) return 0;
    double logs = 0, smoothing = 1;
    for (std::size_t n = 0; n < kOrders; ++n) {
        if (right[n] == 0) smoothing *= 2;
        logs += std::log(right[n] == 0 ? 1 / (smoothing * total[n]) : right[n] / total[n]);
    }
    const double brevity = length < wanted ? std::exp(1 - wanted / length) : 1;
    return 100 * brevity * std::exp(logs / static_cast<double>(kOrders));
}

double corpus_chrf(const Sentences& hypotheses, const Sentences& references) {
    constexpr std::size_t kOrders = 6;
    constexpr double kWeight = 2 * 2;  // of recall: beta squared
    check_numbers("corpus_chrf", hypotheses, references);
    std::array<double, kOrders> right{}, written{}, wanted{};
    for (std::size_t i = 0; i < hypotheses.size(); ++i) {
        const std::u32string hypothesis = without_white(hypotheses[i]);
        const std::u32string reference = without_white(references[i]);
        for (std::size_t n = 1; n <= kOrders; ++n) {
            const double there = number_of(reference, n);
            wanted[n - 1] += there;
            if (there == 0) continue;  // nothing that it could match
            written[n - 1] += number_of(hypothesis, n);
            right[n - 1] +=
                static_cast<double>(matches(ngrams(hypothesis, n), ngrams(reference, n)));
        }
    }
    double precision = 0, recall = 0, orders = 0;
    for (std::size_t n = 0; n < kOrders; ++n) {
        if (written[n] == 0 || wanted[n] == 0) continue;
        precision += right[n] / written[n];
        recall += right[n] / wanted[n];
        ++orders;
    }
    if (precision + recall == 0) return 0;
    precision /= orders;
    recall /= orders;
    return 100 * (1 + kWeight) * precision * recall / (kWeight * precision + recall);
}

double word_error_rate(const Sentences& hypotheses, const Sentences& references) {
    check_numbers("word_error_rate", hypotheses, references);
    double errors = 0, words = 0;
    for (std::size_t i = 0; i < hypotheses.size(); ++i) {
        const Words reference = split_words(utf8::decode("text", references[i]));
        errors +=
            static_cast<double>(edits(split_words(utf8::decode("text", hypotheses[i])), reference));
        words += static_cast<double>(reference.size());
    }
    return errors / words;
}

TranslationScores score_translations(const Sentences& hypotheses, const Sentences& references,
                                     BleuTokens tokens) {
    TranslationScores scores{.pairs = std::ssize(references),
                             .bleu = corpus_bleu(hypotheses, references, tokens),
                             .chrf = corpus_chrf(hypotheses, references),
                             .word_errors = word_error_rate(hypotheses, references),
                             .tokens = tokens};
    for (std::size_t i = 0; i < hypotheses.size(); ++i) {
        scores.exact += hypotheses[i] == references[i];
    }
    return scores;
}

std::string to_text(const TranslationScores& s, const std::string& of) {
    return fmt::format(
        "loss {} nats per {} (perplexity {}) over {} {}s of {}\n"
        "exact match {:.4f} ({} of {}), BLEU {:.2f} ({}), chrF2 {:.2f}, word error rate {:.4f}\n",
        fixed_text(s.loss), s.unit, fixed_text(std::exp(s.loss), 3), s.characters, s.unit,
        utf8::printable(of), static_cast<double>(s.exact) / static_cast<double>(s.pairs), s.exact,
        s.pairs, s.bleu, name_of_value(s.tokens), s.chrf, s.word_errors);
}

std::string to_json(const TranslationScores& s) {
    JsonWriter json;
    json.object([&] {
        json.member("pairs", s.pairs);
        json.member("exact", s.exact);
        json.member(s.unit + "s", s.characters);
        json.member("loss", s.loss);
        json.member("perplexity", std::exp(s.loss));
        json.member("bleu", s.bleu);
        json.member("bleu_tokens", std::string(name_of_value(s.tokens)));
        json.member("chrf2", s.chrf);
        json.member("word_error_rate", s.word_errors);
    });
    return json.text();
}

}  // namespace tapestry
