// Answers that stand in the text: "mia put the red ball into the old wooden box . ... where is the
// red ball ?" An encoder reads text and question together, and says where the answer
// begins and where it ends: two scores for each word. Things of some colours are in no text that it
// learns from; the held-out questions are about these.
#pragma once

#include <tapestry/examples/school/tasks/sentences.h>

namespace tapestry::examples {

struct Exercise {
    Words words;                      ///< text and question
    std::size_t question = 0;         ///< where that begins
    std::size_t begin = 0, last = 0;  ///< of the answer, in the text
};

/// Three facts, and a question about one: where a thing is, who put it there, or what is in a
/// place.
Exercise draw_exercise(bool held_out, Generator& generator);

struct AnswerScores {
    Score exact;  ///< held-out questions of which begin and end are right
    Score begin;  ///< of which the begin is
    Score guess;  ///< right by an answer of the right kind from any of the facts
};

inline const TaskOptions kAnswersOptions{.steps = 1500, .batch = 64, .rate = 3e-3};

AnswerScores learn_answers(const TaskOptions& options);

}  // namespace tapestry::examples
