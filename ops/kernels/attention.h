// One head of attention: softmax(scale Q K' + mask) V, and its gradient, without writing the scores
// to memory (FlashAttention, Dao et al. 2022: in blocks of queries, whose rows of scores stay in
// cache; backward recomputes them).
#pragma once

#include <cstdint>

namespace tapestry::kernels {

/// A matrix with contiguous rows that are `row` elements apart.
template <class P>
struct Rows {
    P* data = nullptr;
    std::int64_t row = 0;
    /// The matrix from row i on; null stays null.
    Rows from(std::int64_t i) const { return {data == nullptr ? data : data + i * row, row}; }
};

/// S is the dtype in which masks and scales are computed: T, unless T is only a storage dtype.
template <class T, class S = T>
struct AttentionHead {
    std::int64_t t = 0, s = 0, d = 0, e = 0;  ///< queries, keys, size of q and k, size of v
    Rows<const T> q{}, k{}, v{};              ///< [t, d], [s, d], [s, e]
    S scale = 1;
    /// Query i sees its first visible + i * visible_step keys, at least none and at most all.
    std::int64_t visible = 0, visible_step = 0;
    /// At most one mask [t, s]: `allowed` marks the keys that a query may see, `added` is added to
    /// the scaled scores. A row stride of 0 repeats a row.
    Rows<const bool> allowed{};
    Rows<const T> added{};
    /// The weights that dropout keeps, [t, s] (all if null), and their scale.
    Rows<const bool> kept{};
    S keep_factor = 1;

    std::int64_t seen(std::int64_t i) const {
        const std::int64_t n = visible + i * visible_step;
        return n < 0 ? 0 : n > s ? s : n;
    }
};

/// Gradients of q, k and v, [t, d], [s, d] and [s, e]; null ones are not computed.
template <class T>
struct AttentionHeadGradients {
    Rows<T> q{}, k{}, v{};
    bool add_to_keys = false;  ///< add to k and v, which hold the gradients of another head
};

template <class T>
struct Attention {
    /// Computes y [t, e] and, unless null, the weights before dropout [t, s], for queries [first,
    /// last).
    void (*forward)(const AttentionHead<T>& head, std::int64_t first, std::int64_t last, Rows<T> y,
                    Rows<T> weights);

    /// Computes the gradients from g [t, e], the gradient of y.
    void (*backward)(const AttentionHead<T>& head, Rows<const T> g,
                     const AttentionHeadGradients<T>& to);
};

}  // namespace tapestry::kernels
