// One head of attention: softmax(scale Q K' + mask) V, and its gradient, without ever writing the
// scores to memory (FlashAttention, Dao et al. 2022: blocks of queries, whose rows of scores stay
// in the cache; backward computes them again).
#pragma once

#include <cstdint>

namespace tapestry::kernels {

/// Rows of numbers, adjacent in a row, rows `row` apart.
template <class P>
struct Rows {
    P* data = nullptr;
    std::int64_t row = 0;
    /// From row i on; nothing of nothing.
    Rows from(std::int64_t i) const { return {data == nullptr ? data : data + i * row, row}; }
};

/// S is what masks and scales are computed in: T, unless T is only how numbers are stored.
template <class T, class S = T>
struct AttentionHead {
    std::int64_t t = 0, s = 0, d = 0, e = 0;  ///< queries, keys, size of q and k, size of v
    Rows<const T> q{}, k{}, v{};              ///< [t, d], [s, d], [s, e]
    S scale = 1;
    /// Query i sees its first visible + i * visible_step keys, at least none and at most all.
    std::int64_t visible = 0, visible_step = 0;
    /// A mask [t, s], either kind or none: which keys a query may see, or what is added to the
    /// scaled scores. A row stride of 0 repeats a row.
    Rows<const bool> allowed{};
    Rows<const T> added{};
    /// The weights that dropout keeps, [t, s], and by how much they grow; all if null.
    Rows<const bool> kept{};
    S keep_factor = 1;

    std::int64_t seen(std::int64_t i) const {
        const std::int64_t n = visible + i * visible_step;
        return n < 0 ? 0 : n > s ? s : n;
    }
};

/// Gradients of q, k and v, [t, d], [s, d] and [s, e]; those that are null are not wanted.
template <class T>
struct AttentionHeadGradients {
    Rows<T> q{}, k{}, v{};
    bool add_to_keys = false;  ///< to what k and v hold, the gradients of another head
};

template <class T>
struct Attention {
    /// y [t, e], and the weights before dropout [t, s] unless null, of queries first .. last - 1.
    void (*forward)(const AttentionHead<T>& head, std::int64_t first, std::int64_t last, Rows<T> y,
                    Rows<T> weights);

    /// From g [t, e], the gradient of y.
    void (*backward)(const AttentionHead<T>& head, Rows<const T> g,
                     const AttentionHeadGradients<T>& to);
};

}  // namespace tapestry::kernels
