// 狗咬人 and 人咬狗: a dog bites a man, or a man bites a dog, in the same three characters. Two
// BERT-like models learn who was hurt and who did it; one of them gets no positions. Attention
// without positions sees a set of words and can only guess.
#pragma once

#include <tapestry/examples/school/tasks/sentences.h>

namespace tapestry::examples {

/// "狗咬了人，谁受了伤？", its passive "人被狗咬了", and who did it, for all ordered pairs of
/// twelve animals, including man. `held_out`: pairs of animals that never meet in the other
/// sentences, in either order; dog and man are among them.
std::vector<Question> bites(bool held_out);

struct BiteScores {
    Score with_positions, without;  ///< on the held-out questions
};

inline const TaskOptions kBitesOptions{.steps = 300, .batch = 64, .rate = 3e-3};

BiteScores learn_who_bit_whom(const TaskOptions& options);

}  // namespace tapestry::examples
