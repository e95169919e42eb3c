#include <tapestry/nn/data/ngram_baseline.h>

#include <tapestry/core/error.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace tapestry {
namespace {

using Counts = std::vector<std::int64_t>;

using IdParts = std::vector<TokenIds>;

// The whole text, or evenly spaced pieces of a long one.
IdParts pieces_of(const TokenIds& ids) {
    constexpr std::int64_t kPieces = 1000;
    constexpr std::int64_t kLength = CountingLosses::kMostCounted / kPieces;
    if (ids.size() <= CountingLosses::kMostCounted) return {ids};
    const std::int64_t distance = (ids.size() - kLength) / (kPieces - 1);
    IdParts pieces;
    for (std::int64_t i = 0; i < kPieces; ++i) pieces.push_back(ids.slice(i * distance, kLength));
    return pieces;
}

std::int64_t size_of(const IdParts& pieces) {
    std::int64_t size = 0;
    for (const TokenIds& piece : pieces) size += piece.size();
    return size;
}

// The ids to predict: all but the first of each piece.
IdParts targets_of(const IdParts& pieces) {
    IdParts targets;
    for (const TokenIds& piece : pieces) targets.push_back(piece.slice(1, piece.size() - 1));
    return targets;
}

Counts count_ids(const IdParts& pieces, std::int64_t vocab) {
    Counts counts(static_cast<std::size_t>(vocab));
    const auto count = [&](std::span<const std::int64_t> block) {
        for (const std::int64_t id : block) {
            require<IndexError>(id >= 0 && id < vocab,
                                "counting_losses: id {} is outside the vocabulary of {}", id,
                                vocab);
            ++counts[static_cast<std::size_t>(id)];
        }
    };
    for (const TokenIds& piece : pieces) piece.for_each_block(count);
    return counts;
}

// counts[a vocab + b]: number of times b follows a
Counts count_pairs(const IdParts& pieces, std::int64_t vocab) {
    Counts counts(static_cast<std::size_t>(vocab * vocab));
    for (const TokenIds& piece : pieces) {
        std::int64_t before = -1;
        piece.for_each_block([&](std::span<const std::int64_t> block) {
            for (const std::int64_t id : block) {
                if (before >= 0) ++counts[static_cast<std::size_t>(before * vocab + id)];
                before = id;
            }
        });
    }
    return counts;
}

// [vocab]: Laplace's rule
std::vector<double> frequencies(const Counts& counts, std::int64_t ids) {
    const auto all = static_cast<double>(ids + static_cast<std::int64_t>(counts.size()));
    std::vector<double> p;
    p.reserve(counts.size());
    for (const std::int64_t count : counts) p.push_back(static_cast<double>(count + 1) / all);
    return p;
}

// -sum over pairs of ln p(b | a), weighted by their counts in the held-out text
double pair_loss(const Counts& seen, const Counts& held_out, const std::vector<double>& p) {
    const std::size_t vocab = p.size();
    double loss = 0;
    for (std::size_t a = 0; a < vocab; ++a) {
        double total = 0, different = 0;  // n(a), t(a)
        for (std::size_t b = 0; b < vocab; ++b) {
            const auto count = static_cast<double>(seen[a * vocab + b]);
            total += count;
            different += count > 0 ? 1 : 0;
        }
        for (std::size_t b = 0; b < vocab; ++b) {
            const auto times = static_cast<double>(held_out[a * vocab + b]);
            if (times == 0) continue;
            const auto count = static_cast<double>(seen[a * vocab + b]);
            const double given =
                total > 0 ? (count + different * p[b]) / (total + different) : p[b];
            loss -= times * std::log(given);
        }
    }
    return loss;
}

}  // namespace

CountingLosses counting_losses(const TokenIds& training, const TokenIds& held_out,
                               std::int64_t vocab) {
    require(training.size() > 0 && held_out.size() >= 2,
            "counting_losses: needs at least 1 id to count and 2 held out, got {} and {}",
            training.size(), held_out.size());
    const IdParts learned = pieces_of(training), tried = pieces_of(held_out);
    const IdParts targets = targets_of(tried);
    const auto predicted = static_cast<double>(size_of(targets));
    const std::vector<double> p = frequencies(count_ids(learned, vocab), size_of(learned));
    CountingLosses losses{.uniform = std::log(static_cast<double>(vocab))};
    count_ids(tried, vocab);  // checks that all are in the vocabulary
    const Counts wanted = count_ids(targets, vocab);
    for (std::size_t b = 0; b < p.size(); ++b) {
        losses.unigram -= static_cast<double>(wanted[b]) * std::log(p[b]) / predicted;
    }
    if (vocab <= CountingLosses::kMostForPairs) {
        losses.bigram =
            pair_loss(count_pairs(learned, vocab), count_pairs(tried, vocab), p) / predicted;
    }
    return losses;
}

}  // namespace tapestry
