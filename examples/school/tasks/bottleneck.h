// The bottleneck: what an encoder-decoder cannot pass through a single vector. Two models are
// taught to write a row of letters backwards, rows of all lengths in one training. Both read with
// the same LSTM; one writes from the reader's last state alone, the other may also look back, with
// Bahdanau's attention. Short rows both learn. The longer the row, the more the one vector would
// have to hold.
// Read next: translate.h, which does the learning; nn/models/seq2seq.h, the models.
#pragma once

#include <tapestry/examples/school/tasks/translate.h>

namespace tapestry::examples {

struct BottleneckOptions {
    TaskOptions task = {.steps = 1500, .batch = 32, .rate = 3e-3};
    std::int64_t longest = 30;  ///< trained on rows of 1 letter to so many
    std::vector<std::int64_t> lengths = {5, 10, 15, 20, 25, 30};  ///< examined on these
    std::int64_t questions = 200;                                 ///< of each length
    std::int64_t letters = 26;                                    ///< of the alphabet
    std::int64_t hidden = 128;
};

/// How often each model wrote a whole row of this length without a mistake.
struct BottleneckRow {
    std::int64_t length;
    Score without, with;
};

/// Random letters, as many as `shortest` to `longest`, and the same backwards.
Pair draw_row(std::int64_t letters, std::int64_t shortest, std::int64_t longest, bool for_test,
              Generator& generator);

std::vector<BottleneckRow> compare_at_bottleneck(const BottleneckOptions& options);

}  // namespace tapestry::examples
