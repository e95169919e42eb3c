#include <tapestry/nn/data/data_loader.h>

#include <tapestry/core/create.h>
#include <tapestry/nn/data/permutation.h>
#include <tapestry/ops/indexing.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tapestry::detail {

std::int64_t count_examples(std::span<const Tensor> tensors) {
    for (const Tensor& tensor : tensors) {
        require<ShapeError>(tensor.defined() && tensor.rank() >= 1,
                            "TensorDataset: a tensor of rank 0 has no examples");
        require<ShapeError>(tensor.size(0) == tensors.front().size(0),
                            "TensorDataset: {} examples in {}, but {} in {}",
                            tensors.front().size(0), tensors.front().shape(), tensor.size(0),
                            tensor.shape());
    }
    return tensors.front().size(0);
}

void copy_rows(std::span<const Tensor> from, const Tensor& ids, std::span<Tensor> to) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = index_select(from[i], 0, ids);
}

namespace {

// Sizes that sum to n exactly, although the fractions sum to 1 only within rounding.
std::vector<std::int64_t> split_sizes(std::int64_t n, std::span<const double> fractions) {
    for (const double fraction : fractions) {
        require(fraction >= 0, "random_split: fraction must be >= 0, got {}", fraction);
    }
    const double whole = std::accumulate(fractions.begin(), fractions.end(), 0.0);
    require(std::abs(whole - 1) < 1e-6, "random_split: the fractions must sum to 1, got {}", whole);
    std::vector<std::int64_t> sizes;
    std::int64_t left = n;
    for (const double fraction : fractions) {
        const auto size = static_cast<std::int64_t>(static_cast<double>(n) * fraction);
        sizes.push_back(std::min(size, left));
        left -= sizes.back();
    }
    for (std::size_t i = 0; left > 0; i = (i + 1) % sizes.size(), --left) ++sizes[i];
    return sizes;
}

}  // namespace

Tensors split_ids(std::int64_t n, std::span<const double> fractions, Generator& generator) {
    const std::vector<std::int64_t> sizes = split_sizes(n, fractions);
    const auto order = randperm(n, generator).to_vector<std::int64_t>();
    Tensors parts;
    auto at = order.begin();
    for (const std::int64_t size : sizes) {
        parts.push_back(tensor(std::vector<std::int64_t>(at, at + size), {size}));
        at += size;
    }
    return parts;
}

}  // namespace tapestry::detail

namespace tapestry {

EpochOrder::EpochOrder(std::int64_t n, const DataLoaderOptions& options)
    : n_(n), options_(options) {
    require(options.batch_size >= 1, "DataLoader: batch must be positive, got {}",
            options.batch_size);
    batches_ = n / options.batch_size;
    if (!options.drop_last && n % options.batch_size != 0) ++batches_;
    require(batches_ >= 1, "DataLoader: {} examples are too few for a batch of {}", n,
            options.batch_size);
}

Tensor EpochOrder::ids(std::int64_t i) const {
    const std::int64_t first = i % batches_ * options_.batch_size;
    const std::int64_t count = std::min(options_.batch_size, n_ - first);
    const Permutation order(static_cast<std::uint64_t>(n_), options_.seed,
                            static_cast<std::uint64_t>(i / batches_));
    std::vector<std::int64_t> ids;
    for (std::int64_t id = first; id < first + count; ++id) {
        const auto at = static_cast<std::uint64_t>(id);
        ids.push_back(options_.shuffle ? static_cast<std::int64_t>(order(at)) : id);
    }
    return tensor(ids, {count});
}

}  // namespace tapestry
