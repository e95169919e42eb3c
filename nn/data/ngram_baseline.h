// How well a text is predicted by counting alone: what a model has to beat before it can be said to
// have learned anything. Read next: nn/train/evaluate.h, whose losses these stand beside.
#pragma once

#include <tapestry/nn/data/token_ids.h>

#include <cstdint>
#include <optional>

namespace tapestry {

/// Mean cross-entropies in nats per token, of the ids of `held_out` from the second on.
struct CountingLosses {
    /// Every id alike: ln(vocab). About what an untrained model has.
    double uniform = 0;
    /// By its frequency in the training text: p(b) = (n(b) + 1) / (n + vocab), so that an id it
    /// never held keeps a probability (Laplace's rule).
    double unigram = 0;
    /// By what followed the id before it in the training text, mixed with p(b):
    /// p(b | a) = (n(ab) + t(a) p(b)) / (n(a) + t(a)), where t(a) counts the different ids that
    /// followed a. Source: Witten and Bell 1991, "The zero-frequency problem", method C. Not taken
    /// for a vocabulary above kMostForPairs: the table has vocab^2 numbers.
    std::optional<double> bigram = {};

    static constexpr std::int64_t kMostForPairs = 1024;
    /// Of a longer text, so many ids in a thousand pieces, evenly spread.
    static constexpr std::int64_t kMostCounted = 20'000'000;
};

/// Counts in `training`, measures on `held_out`. Throws ValueError when the training text is empty
/// or fewer than two ids are held out, IndexError for an id outside the vocabulary.
CountingLosses counting_losses(const TokenIds& training, const TokenIds& held_out,
                               std::int64_t vocab);

}  // namespace tapestry
