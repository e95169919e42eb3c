// 狗咬人 and 人咬狗: a dog bites a man, or a man bites a dog, in the same three characters. Two
// models of BERT's shape learn to say who was hurt, and who did it; one of them is not told where a
// word stands. Attention alone sees a set of words, and so that one can but guess.
#pragma once

#include <tapestry/examples/school/tasks/sentences.h>

namespace tapestry::examples {

/// "狗咬了人，谁受了伤？", its passive "人被狗咬了", and who did it, of all ordered pairs of twelve
/// animals, man being one. `held_out`: whose two animals never meet in the other sentences, in
/// either order; the dog and the man are among these.
std::vector<Question> bites(bool held_out);

struct BiteScores {
    Score with_positions, without;  ///< of the held-out questions
};

inline const TaskOptions kBitesOptions{.steps = 300, .batch = 64, .rate = 3e-3};

BiteScores learn_who_bit_whom(const TaskOptions& options);

}  // namespace tapestry::examples
