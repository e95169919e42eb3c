// Datasets of tensors whose rows belong together, for instance images [N, 8, 8] and labels [N]; and
// batches of them, epoch after epoch:
//
//     const TensorDataset digits(images, labels);
//     const auto [train, held_out] = random_split(digits, {0.8, 0.2}, generator);
//     DataLoader batches(train, {.batch_size = 32, .shuffle = true, .seed = 7});
//     for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
//         for (const auto& [images, labels] : batches) { ... }       // [32, 8, 8], [32]
//     }
//
// The examples in batch i depend only on the seed and i, so position(), the number of batches
// returned so far, is all that a resumed run needs. A loop left by `break` continues with the rest
// of its epoch next time; set_position starts elsewhere. Read next: text.h, for texts, which have
// no examples.
#pragma once

#include <tapestry/core/random.h>

#include <array>
#include <iterator>
#include <span>
#include <utility>

namespace tapestry {

namespace detail {
/// The common size of axis 0. Throws ShapeError if they differ, and for rank 0.
std::int64_t count_examples(std::span<const Tensor> tensors);
/// Copies these rows of `from`.
void copy_rows(std::span<const Tensor> from, const Tensor& ids, std::span<Tensor> to);
/// The numbers below n in random order, split into one part per fraction.
Tensors split_ids(std::int64_t n, std::span<const double> fractions, Generator& generator);
}  // namespace detail

/// N tensors of any dtype and shape; row i of each belongs to example i.
template <std::size_t N>
class TensorDataset {
public:
    /// One tensor per kind, whose first axes belong together.
    using Examples = std::array<Tensor, N>;

    /// Shares the tensors' memory. Throws ShapeError unless all have the same size on axis 0.
    explicit TensorDataset(Examples tensors)
        : tensors_(std::move(tensors)), size_(detail::count_examples(tensors_)) {}

    /// The same for tensors listed one by one.
    template <class... T>
    explicit TensorDataset(const Tensor& first, const T&... others)
        : TensorDataset(Examples{first, others...}) {}

    std::int64_t size() const { return size_; }           ///< N, the number of examples
    const Examples& tensors() const { return tensors_; }  ///< all examples

    /// Copies the examples ids [n], i64. Throws IndexError.
    Examples examples(const Tensor& ids) const {
        Examples chosen;
        detail::copy_rows(tensors_, ids, chosen);
        return chosen;
    }

private:
    Examples tensors_;
    std::int64_t size_;
};

/// TensorDataset(images, labels) is a TensorDataset<2>.
template <class... T>
TensorDataset(const Tensor&, const T&...) -> TensorDataset<1 + sizeof...(T)>;

/// Assigns each example to one of the parts at random. The fractions must sum to 1; sizes are
/// rounded down, and the remaining examples are distributed round-robin, as in PyTorch. Throws
/// ValueError for other fractions.
template <std::size_t N, std::size_t Parts>
std::array<TensorDataset<N>, Parts> random_split(const TensorDataset<N>& dataset,
                                                 const double (&fractions)[Parts],
                                                 Generator& generator = default_generator()) {
    const Tensors ids = detail::split_ids(dataset.size(), fractions, generator);
    const auto part = [&](std::size_t i) { return TensorDataset<N>(dataset.examples(ids[i])); };
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::array<TensorDataset<N>, Parts>{part(I)...};
    }
    (std::make_index_sequence<Parts>());
}

// ---- batches ------------------------------------------------------------------------------------

/// How examples become batches.
struct DataLoaderOptions {
    std::int64_t batch_size = 1;  ///< examples per batch
    bool shuffle = false;         ///< a different order in each epoch
    bool drop_last = false;       ///< drop an incomplete batch at the end of an epoch
    std::uint64_t seed = 0;       ///< of the orders
};

/// The order of the examples.
class EpochOrder {
public:
    /// For n examples. Throws ValueError if an epoch would have no batch.
    EpochOrder(std::int64_t n, const DataLoaderOptions& options);

    /// Batches in an epoch.
    std::int64_t batches() const { return batches_; }
    /// The examples of batch i = 0, 1, ..., i64 [batch_size] or fewer.
    Tensor ids(std::int64_t i) const;

private:
    std::int64_t n_;
    DataLoaderOptions options_;
    std::int64_t batches_;
};

/// Batches of a dataset, epoch after epoch, see above.
template <std::size_t N>
class DataLoader {
public:
    /// Tensors [batch_size, ...], one per tensor of the dataset.
    using Batch = std::array<Tensor, N>;

    /// Throws ValueError for a dataset without examples and a batch_size that is not positive.
    explicit DataLoader(TensorDataset<N> dataset, const DataLoaderOptions& options = {})
        : dataset_(std::move(dataset)), order_(dataset_.size(), options) {}

    const TensorDataset<N>& dataset() const { return dataset_; }  ///< the examples
    /// Batches in an epoch.
    std::int64_t size() const { return order_.batches(); }

    /// Batches returned so far, over all epochs.
    std::int64_t position() const { return position_; }
    /// Throws ValueError if negative.
    void set_position(std::int64_t position) {
        require(position >= 0, "DataLoader: position must be >= 0, got {}", position);
        position_ = position;
    }
    /// The epoch of the next batch: 0, 1, ...
    std::int64_t epoch() const { return position_ / size(); }

    /// The next batch; after the last of an epoch, the first of the next.
    Batch next() { return dataset_.examples(order_.ids(position_++)); }

    /// Iterates over the batches up to the end of the epoch.
    class Iterator {
    public:
        /// Takes the loader's next batch.
        explicit Iterator(DataLoader& loader) : loader_(&loader), batch_(loader.next()) {}
        /// The batch at hand, valid until the next one.
        const Batch& operator*() const { return batch_; }
        /// Takes the next batch, or ends.
        Iterator& operator++() {
            is_over_ = loader_->position() % loader_->size() == 0;
            if (!is_over_) batch_ = loader_->next();
            return *this;
        }
        /// Whether the epoch is over.
        bool operator==(std::default_sentinel_t) const { return is_over_; }

    private:
        DataLoader* loader_;
        Batch batch_;
        bool is_over_ = false;
    };
    /// Continues the epoch at position().
    Iterator begin() { return Iterator(*this); }
    std::default_sentinel_t end() const { return {}; }  ///< the end of the epoch

private:
    TensorDataset<N> dataset_;
    EpochOrder order_;
    std::int64_t position_ = 0;
};

}  // namespace tapestry
