// Extractive question answering: "mia put the red ball into the old wooden box . ... where is the
// red ball ?" An encoder reads text and question together and predicts where the answer begins and
// ends: two scores per word. Training texts never show things of certain colours; the held-out
// questions are about these.
#pragma once

#include <tapestry/examples/school/tasks/sentences.h>

namespace tapestry::examples {

struct Exercise {
    Words words;                      ///< text and question
    std::size_t question = 0;         ///< where the question begins
    std::size_t begin = 0, last = 0;  ///< of the answer, in the text
};

/// Three facts and a question about one of them: where a thing is, who put it there, or what is in
/// a place.
Exercise draw_exercise(bool held_out, Generator& generator);

/// The same as a line of a file: text, question, answer, and the character where the answer begins,
/// between tabs.
std::string draw_question_line(bool held_out, Generator& generator);

struct AnswerScores {
    Score exact;  ///< held-out questions with both ends right
    Score begin;  ///< with the beginning right
    Score guess;  ///< expected score of picking an answer of the right kind from a random fact
};

inline const TaskOptions kAnswersOptions{.steps = 2500, .batch = 64, .rate = 2e-3};

AnswerScores learn_answers(const TaskOptions& options);

}  // namespace tapestry::examples
