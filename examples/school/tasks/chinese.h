// From English into Chinese: "the teacher bought two old books at the market yesterday" is
// 老师昨天在市场买了两本旧书. What English says last, Chinese says before the verb; things are
// counted with a word of their own (本 for books, 匹 for horses); "old" is 老 for a horse and 旧
// for a book. The Transformer learns it from pairs, writes by beam search, and its cross-attention
// is held against the truth: which English words each character comes from. Some adjectives never
// meet some nouns where it learns; the held-out sentences have these.
#pragma once

#include <tapestry/examples/school/tasks/sentences.h>

namespace tapestry::examples {

/// English words [begin, end).
struct Origin {
    std::size_t begin = 0, end = 0;
};

struct Translated {
    Words english, chinese;       ///< words, and characters
    std::vector<Origin> origins;  ///< of each part's first character; the others' are empty
};

/// `held_out`: about a "black horse" or another pair that the other sentences do not have.
Translated draw_translated(bool held_out, Generator& generator);

struct ChineseScores {
    Score beam, greedy;  ///< held-out sentences that are right to the last character
    Score aligned;       ///< first characters at which attention is greatest on one of their words
};

inline const TaskOptions kChineseOptions{.steps = 500, .batch = 64, .rate = 3e-3};

ChineseScores learn_chinese(const TaskOptions& options);

}  // namespace tapestry::examples
