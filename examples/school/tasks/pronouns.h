// Which noun does a pronoun mean? The cat chased the mouse because it was hungry, or because it
// looked tasty; the host poured the guests some wine, but they did not like it. The last words
// decide. A model of BERT's shape learns to name the noun at the pronoun's place, in English or in
// Chinese, and is asked about nouns that it never saw together. (experiments/who_is_it.cpp asks the
// stories of
// ./demo the same, and takes heads away.)
#pragma once

#include <tapestry/examples/school/tasks/sentences.h>

namespace tapestry::examples {

enum class Language { english, chinese };

/// A question at a pronoun, and where the sentence's nouns stand.
struct Riddle {
    Question question;
    std::size_t antecedent = 0;
    std::vector<std::size_t> others;
};

/// All riddles that can be told; `held_out`: those of nouns that never meet in the others. The cat
/// and the mouse, and the host, the guests and the wine, are among these.
std::vector<Riddle> riddles(Language language, bool held_out);

struct RiddleScores {
    Score model, first_noun;  ///< held out; and of somebody who always names the first noun
    /// Of the head that looks hardest from the pronoun at its antecedent: which it is, its mean
    /// weight there, and on another noun.
    std::int64_t layer = 0, head = 0;
    double antecedent = 0, other = 0;
};

inline const TaskOptions kPronounsOptions{.steps = 500, .batch = 64, .rate = 3e-3};

RiddleScores learn_pronouns(Language language, const TaskOptions& options);

}  // namespace tapestry::examples
