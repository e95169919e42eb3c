// Which noun does a pronoun refer to? The cat chased the mouse because it was hungry, or because it
// looked tasty; the host poured the guests some wine, but they did not like it. The last words
// decide. A BERT-like model learns to predict the noun at the pronoun's place, in English or
// Chinese, and is tested on nouns that it never saw together. (experiments/who_is_it.cpp asks the
// same of ./demo's stories, and ablates heads.)
#pragma once

#include <tapestry/examples/school/tasks/sentences.h>

namespace tapestry::examples {

enum class Language { english, chinese };

/// A question about a pronoun, with the positions of the sentence's nouns.
struct Riddle {
    Question question;
    std::size_t antecedent = 0;
    std::vector<std::size_t> others;
};

/// All riddles; `held_out`: those with nouns that never meet in the others. The cat and the mouse,
/// and the host, the guests and the wine, are among these.
std::vector<Riddle> riddles(Language language, bool held_out);

struct RiddleScores {
    Score model, first_noun;  ///< held-out scores; first_noun: of always naming the first noun
    /// The head with the most attention from pronoun to antecedent, its mean weight there, and its
    /// mean weight on another noun.
    std::int64_t layer = 0, head = 0;
    double antecedent = 0, other = 0;
};

inline const TaskOptions kPronounsOptions{.steps = 500, .batch = 64, .rate = 3e-3};

RiddleScores learn_pronouns(Language language, const TaskOptions& options);

}  // namespace tapestry::examples
