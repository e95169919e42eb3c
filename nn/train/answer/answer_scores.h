// How well questions are answered: exact match and F1, as the evaluation script of SQuAD 2.0
// defines them. Read next: answer_task.h, which answers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// An answer as it is compared: in small letters, without punctuation (ASCII's) and without the
/// words a, an and the; words separated by a space. Small letters are those of all scripts, as
/// Python's str.lower() has them (core/text/unicode.h).
/// Source: Rajpurkar et al. 2016, "SQuAD: 100,000+ Questions for Machine Comprehension of Text",
/// section 6.1, and the script of 2018, evaluate-v2.0.py.
std::string normalized_answer(std::string_view text);

/// Whether the normalised texts are the same.
bool is_exact_match(std::string_view answer, std::string_view right);

/// The harmonic mean of precision and recall of the words that both normalised texts have, each
/// counted as often as it occurs in both; of a text without words 1 if the other has none, else 0.
double answer_f1(std::string_view answer, std::string_view right);

/// Means over questions, each with the best of its right answers.
struct AnswerScores {
    std::int64_t questions = 0;  ///< counted
    double exact = 0;            ///< questions answered exactly
    double f1 = 0;               ///< sum of their F1

    /// Counts a question.
    void add(std::string_view answer, const std::vector<std::string>& right);
};

/// "exact match 0.9120, F1 0.9377 over 500 questions of test.jsonl", and a line end.
std::string to_text(const AnswerScores& scores, const std::string& of);

/// One JSON object.
std::string to_json(const AnswerScores& scores);

}  // namespace tapestry
