// Examples as tensors that belong together: images [N, 8, 8] and their labels [N], say.
//
//     const TensorDataset digits(images, labels);
//     const auto [train, held_out] = random_split(digits, {0.8, 0.2}, generator);
//
// Read next: data_loader.h, which makes batches of them; text.h, for texts, which have no examples.
#pragma once

#include <tapestry/core/random.h>

#include <array>
#include <span>
#include <utility>

namespace tapestry {

namespace detail {
/// The size that all have on axis 0. Throws ShapeError where they differ, and for rank 0.
std::int64_t count_examples(std::span<const Tensor> tensors);
/// Those rows of `from`, copied.
void copy_rows(std::span<const Tensor> from, const Tensor& ids, std::span<Tensor> to);
/// The numbers below n in random order, in as many parts as there are fractions.
Tensors split_ids(std::int64_t n, std::span<const double> fractions, Generator& generator);
}  // namespace detail

/// N tensors of any dtype and shape, whose row i is example i.
template <std::size_t N>
class TensorDataset {
public:
    using Examples = std::array<Tensor, N>;

    /// Shares their memory. Throws ShapeError unless all have the same size on axis 0.
    explicit TensorDataset(Examples tensors)
        : tensors_(std::move(tensors)), size_(detail::count_examples(tensors_)) {}

    template <class... T>
    explicit TensorDataset(const Tensor& first, const T&... others)
        : TensorDataset(Examples{first, others...}) {}

    std::int64_t size() const { return size_; }
    const Examples& tensors() const { return tensors_; }

    /// The examples ids [n], i64, copied. Throws IndexError.
    Examples examples(const Tensor& ids) const {
        Examples chosen;
        detail::copy_rows(tensors_, ids, chosen);
        return chosen;
    }

private:
    Examples tensors_;
    std::int64_t size_;
};

template <class... T>
TensorDataset(const Tensor&, const T&...) -> TensorDataset<1 + sizeof...(T)>;

/// Each example in one of the parts, by chance: fractions that sum to 1, each rounded down; what is
/// left goes to the parts in turn, as PyTorch does it. Throws ValueError for other fractions.
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

}  // namespace tapestry
