// The softmax inside attention, and its gradient, over rows of one head's scores.
//
// A row is a query, a column a key. The products around it are gemm's; ops/attention.cpp puts the
// two together.
#pragma once

#include <cstdint>

namespace tapestry::kernels {

/// Some rows of one head's scores, worked on in place.
template <class T>
struct AttentionRows {
    T* scores = nullptr;
    std::int64_t rows = 0, columns = 0, stride = 0;
    /// Row i sees its first visible + i * visible_step columns, at least none and at most all; the
    /// others become 0. The step is 1 under a causal mask, else 0.
    std::int64_t visible = 0, visible_step = 0;
    T scale = 1;
    /// A mask of at least as many columns, either kind or none: a bool that says which columns a
    /// row may see, or numbers to be added to the scaled scores. Rows lie mask_stride apart.
    const bool* allowed = nullptr;
    const T* added = nullptr;
    std::int64_t mask_stride = 0;
};

template <class T>
struct Attention {
    /// p = softmax(scale scores + added) over what a row sees; a row that sees nothing is all 0.
    void (*softmax)(const AttentionRows<T>& scores);

    /// dp, in place: ds = scale p (dp - sum_j dp_j p_j), for the p that softmax left, whose rows
    /// lie p_stride apart.
    void (*softmax_backward)(const AttentionRows<T>& dp, const T* p, std::int64_t p_stride);
};

}  // namespace tapestry::kernels
