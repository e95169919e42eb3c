// Batches of examples of similar length, so that little of a batch is padding. Read next:
// permutation.h, the order of an epoch.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/data/text.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace tapestry {

/// Examples by length, from which batches are drawn. Only the generator's state decides which.
///
///   random  an example is drawn, each with equal probability, and the rest of the batch from those
///           of similar length, its bucket: so each example has the same chance in every place
///   epoch   each once per epoch: a stretch of at most 32 batches of the epoch's random order is
///           sorted by length, and its batches come in random order
class LengthBuckets {
public:
    /// Lengths of each example's two sides. A bucket has at least `least` examples, unless there
    /// are fewer. Throws ValueError if there are none.
    explicit LengthBuckets(std::vector<std::pair<std::int64_t, std::int64_t>> lengths,
                           std::int64_t least = 256);

    /// The next batch, by index. Throws ValueError unless `batch` is positive.
    std::vector<std::int64_t> next(BatchOrder order, std::int64_t batch,
                                   Generator& generator) const;

    /// All examples, the shortest first.
    const std::vector<std::int64_t>& by_length() const { return by_length_; }

private:
    std::vector<std::int64_t> random_batch(std::int64_t batch, Generator& generator) const;
    std::vector<std::int64_t> batch_of_epoch(std::int64_t batch, Generator& generator) const;

    std::vector<std::pair<std::int64_t, std::int64_t>> lengths_;
    std::vector<std::int64_t> by_length_;
    std::int64_t buckets_ = 1;  // parts of by_length_, equal but for one
};

}  // namespace tapestry
