// From English into Chinese: "the teacher bought two old books at the market yesterday" is
// 老师昨天在市场买了两本旧书. Chinese puts time and place before the verb; counting takes
// a measure word (本 for books, 匹 for horses); "old" is 老 for a horse and 旧 for a book. The
// Transformer learns from pairs and writes by beam search, and its cross-attention is checked
// against the truth: which English words each character comes from. Some adjective-noun pairs never
// occur in training; the held-out sentences have these.
#pragma once

#include <tapestry/examples/school/tasks/sentences.h>
#include <tapestry/examples/school/tasks/task.h>

namespace tapestry::examples {

/// English words [begin, end).
struct Origin {
    std::size_t begin = 0, end = 0;
};

struct Translated {
    Words english, chinese;       ///< words, and characters
    std::vector<Origin> origins;  ///< of each part's first character; empty for its others
};

/// `held_out`: contains a "black horse" or another pair that the other sentences never have.
Translated draw_translated(bool held_out, Generator& generator);

/// The same as texts: words with spaces, characters without.
Pair draw_chinese_pair(bool held_out, Generator& generator);

struct ChineseScores {
    Score beam, greedy;  ///< held-out sentences translated exactly
    Score aligned;  ///< first characters whose strongest attention is on one of their source words
};

inline const TaskOptions kChineseOptions{.steps = 500, .batch = 64, .rate = 3e-3};

ChineseScores learn_chinese(const TaskOptions& options);

}  // namespace tapestry::examples
