// Batches of a dataset, epoch after epoch:
//
//     DataLoader batches(digits, {.batch_size = 32, .shuffle = true, .seed = 7});
//     for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
//         for (const auto& [images, labels] : batches) { ... }       // [32, 8, 8], [32]
//     }
//
// Which examples batch i has follows from seed and i alone. So position(), the number of batches
// given out, is all that must be kept to go on later where one stopped. A loop that was left with
// `break` goes on with the rest of its epoch, too; set_position begins elsewhere.
#pragma once

#include <tapestry/nn/data/tensor_dataset.h>

#include <iterator>

namespace tapestry {

struct DataLoaderOptions {
    std::int64_t batch_size = 1;
    bool shuffle = false;    ///< another order in each epoch
    bool drop_last = false;  ///< leave out what does not fill a batch at the end of an epoch
    std::uint64_t seed = 0;  ///< of the orders
};

/// Which examples come when.
class EpochOrder {
public:
    /// Of n examples. Throws ValueError if an epoch had no batch.
    EpochOrder(std::int64_t n, const DataLoaderOptions& options);

    /// Batches in an epoch.
    std::int64_t batches() const { return batches_; }
    /// Those of batch i = 0, 1, ..., i64 [batch_size] or fewer.
    Tensor ids(std::int64_t i) const;

private:
    std::int64_t n_;
    DataLoaderOptions options_;
    std::int64_t batches_;
};

template <std::size_t N>
class DataLoader {
public:
    using Batch = std::array<Tensor, N>;

    explicit DataLoader(TensorDataset<N> dataset, const DataLoaderOptions& options = {})
        : dataset_(std::move(dataset)), order_(dataset_.size(), options) {}

    const TensorDataset<N>& dataset() const { return dataset_; }
    /// Batches in an epoch.
    std::int64_t size() const { return order_.batches(); }

    /// Batches given out so far, over all epochs.
    std::int64_t position() const { return position_; }
    /// Throws ValueError if it is negative.
    void set_position(std::int64_t position) {
        require(position >= 0, "DataLoader: position {} is negative", position);
        position_ = position;
    }
    /// The epoch in which the next batch lies: 0, 1, ...
    std::int64_t epoch() const { return position_ / size(); }

    /// The next batch; after the last of an epoch, the first of the next.
    Batch next() { return dataset_.examples(order_.ids(position_++)); }

    /// Gives out the next batches to the end of the epoch.
    class Iterator {
    public:
        explicit Iterator(DataLoader& loader) : loader_(&loader), batch_(loader.next()) {}
        const Batch& operator*() const { return batch_; }
        Iterator& operator++() {
            is_over_ = loader_->position() % loader_->size() == 0;
            if (!is_over_) batch_ = loader_->next();
            return *this;
        }
        bool operator==(std::default_sentinel_t) const { return is_over_; }

    private:
        DataLoader* loader_;
        Batch batch_;
        bool is_over_ = false;
    };
    Iterator begin() { return Iterator(*this); }
    std::default_sentinel_t end() const { return {}; }

private:
    TensorDataset<N> dataset_;
    EpochOrder order_;
    std::int64_t position_ = 0;
};

}  // namespace tapestry
