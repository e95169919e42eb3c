#include <tapestry/nn/data/length_buckets.h>

#include <tapestry/core/error.h>
#include <tapestry/nn/data/permutation.h>

#include <algorithm>
#include <numeric>

namespace tapestry {
namespace {

constexpr std::uint64_t kStretch = 32;  // batches

}  // namespace

LengthBuckets::LengthBuckets(std::vector<std::pair<std::int64_t, std::int64_t>> lengths,
                             std::int64_t least)
    : lengths_(std::move(lengths)), by_length_(lengths_.size()) {
    require(!lengths_.empty(), "LengthBuckets: needs at least 1 example");
    std::iota(by_length_.begin(), by_length_.end(), 0);
    std::stable_sort(by_length_.begin(), by_length_.end(), [this](std::int64_t a, std::int64_t b) {
        return lengths_[static_cast<std::size_t>(a)] < lengths_[static_cast<std::size_t>(b)];
    });
    buckets_ = std::max<std::int64_t>(1, std::ssize(by_length_) / std::max<std::int64_t>(1, least));
}

std::vector<std::int64_t> LengthBuckets::next(BatchOrder order, std::int64_t batch,
                                              Generator& generator) const {
    require(batch >= 1, "LengthBuckets: a batch needs at least 1 example, got {}", batch);
    return order == BatchOrder::random ? random_batch(batch, generator)
                                       : batch_of_epoch(batch, generator);
}

// Bucket b is places [b n / buckets, (b + 1) n / buckets) of by_length_.
std::vector<std::int64_t> LengthBuckets::random_batch(std::int64_t batch,
                                                      Generator& generator) const {
    const std::int64_t n = std::ssize(by_length_);
    const std::int64_t first = randint(0, n, {1}, generator).to_vector<std::int64_t>()[0];
    const std::int64_t bucket = ((first + 1) * buckets_ - 1) / n;
    const std::int64_t begin = bucket * n / buckets_, end = (bucket + 1) * n / buckets_;
    std::vector<std::int64_t> rows{first};
    if (batch > 1) {
        const auto others = randint(begin, end, {batch - 1}, generator).to_vector<std::int64_t>();
        rows.insert(rows.end(), others.begin(), others.end());
    }
    for (std::int64_t& row : rows) row = by_length_[static_cast<std::size_t>(row)];
    return rows;
}

// The generator's offset counts the examples so far, as for next_in_epochs. A batch in which an
// epoch ends is taken as it comes; those of one epoch are sorted, and change places only among
// themselves.
std::vector<std::int64_t> LengthBuckets::batch_of_epoch(std::int64_t batch,
                                                        Generator& generator) const {
    const auto size = static_cast<std::uint64_t>(batch);
    const auto examples = static_cast<std::uint64_t>(by_length_.size());
    const std::uint64_t number = generator.take(size) / size;  // of the batch
    const std::uint64_t epoch = number * size / examples;
    // The batches [begin, end) that are sorted together.
    std::uint64_t begin = number, end = number + 1;
    if (end * size <= (epoch + 1) * examples) {
        const std::uint64_t first = (epoch * examples + size - 1) / size;
        begin = first + (number - first) / kStretch * kStretch;
        end = std::min(begin + kStretch, (epoch + 1) * examples / size);
    }
    Generator from(generator.seed());
    from.set_state(generator.seed(), begin * size);
    std::vector<std::int64_t> all((end - begin) * size);
    next_in_epochs(from, std::ssize(by_length_), all);
    std::stable_sort(all.begin(), all.end(), [this](std::int64_t a, std::int64_t b) {
        return lengths_[static_cast<std::size_t>(a)] < lengths_[static_cast<std::size_t>(b)];
    });
    const Permutation places(end - begin, stream(generator.seed(), "stretch").seed(), begin);
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(places(number - begin) * size);
    return {at, at + batch};
}

}  // namespace tapestry
