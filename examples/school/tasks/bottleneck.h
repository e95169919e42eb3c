// The bottleneck: what an encoder-decoder cannot pass through a single vector. Two models are
// trained to reverse rows of letters of all lengths. Both read with the same LSTM; the first writes
// from the encoder's last state only, the second can also look back with Bahdanau's attention.
// Both learn short rows. The longer the row, the more a single vector would have to hold.
// Read next: translate.h, which trains them; nn/models/seq2seq.h, the models.
#pragma once

#include <tapestry/examples/school/tasks/translate.h>

namespace tapestry::examples {

struct BottleneckOptions {
    TaskOptions task = {.steps = 1500, .batch = 32, .rate = 3e-3};
    std::int64_t longest = 30;  ///< trained on rows of 1 to `longest` letters
    std::vector<std::int64_t> lengths = {5, 10, 15, 20, 25, 30};  ///< tested on these
    std::int64_t questions = 200;                                 ///< of each length
    std::int64_t letters = 26;                                    ///< size of the alphabet
    std::int64_t hidden = 128;
};

/// The share of rows of this length that each model wrote without a mistake.
struct BottleneckRow {
    std::int64_t length;
    Score without, with;
};

/// A row of random letters, `shortest` to `longest` of them, and its reverse.
Pair draw_row(std::int64_t letters, std::int64_t shortest, std::int64_t longest, bool for_test,
              Generator& generator);

std::vector<BottleneckRow> compare_at_bottleneck(const BottleneckOptions& options);

}  // namespace tapestry::examples
