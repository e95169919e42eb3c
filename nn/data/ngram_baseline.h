// Losses of n-gram models, a baseline that a model must beat before it can be said to have learned
// anything. Read next: nn/train/evaluate.h, whose losses are compared with these.
#pragma once

#include <tapestry/nn/data/token_ids.h>

#include <cstdint>
#include <optional>

namespace tapestry {

/// Mean cross-entropies in nats per token of the ids of `held_out`, except the first.
struct CountingLosses {
    /// All ids equally likely: ln(vocab), roughly an untrained model's loss.
    double uniform = 0;
    /// By frequency in the training text: p(b) = (n(b) + 1) / (n + vocab), so unseen ids have a
    /// positive probability (Laplace's rule).
    double unigram = 0;
    /// By what followed the previous id in the training text, mixed with p(b): p(b | a) = (n(ab) +
    /// t(a) p(b)) / (n(a) + t(a)), where t(a) is the number of distinct ids that followed a.
    /// Source: Witten and Bell 1991, "The zero-frequency problem", method C. Not computed for a
    /// vocabulary above kMostForPairs, because the table has vocab^2 numbers.
    std::optional<double> bigram = {};

    /// The largest vocabulary for which pairs are counted.
    static constexpr std::int64_t kMostForPairs = 1024;
    /// Maximum number of ids counted; longer texts are sampled in a thousand evenly spaced pieces.
    static constexpr std::int64_t kMostCounted = 20'000'000;
};

/// Counts in `training`, evaluates on `held_out`. Throws ValueError when the training text is empty
/// or fewer than two ids are held out, IndexError for an id outside the vocabulary.
CountingLosses counting_losses(const TokenIds& training, const TokenIds& held_out,
                               std::int64_t vocab);

}  // namespace tapestry
