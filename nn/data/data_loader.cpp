#include <tapestry/nn/data/data_loader.h>

#include <tapestry/core/create.h>
#include <tapestry/nn/data/permutation.h>

#include <algorithm>

namespace tapestry {

EpochOrder::EpochOrder(std::int64_t n, const DataLoaderOptions& options)
    : n_(n), options_(options) {
    require(options.batch_size >= 1, "DataLoader: batches of {} examples", options.batch_size);
    batches_ = n / options.batch_size;
    if (!options.drop_last && n % options.batch_size != 0) ++batches_;
    require(batches_ >= 1, "DataLoader: {} examples make no batch of {}", n, options.batch_size);
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
