// Softmax along rows, cross-entropy of rows of logits with class indices, and their gradients.
//
// Rows are dense: element i of row r is x[r * n + i]. y may be x, dx may be g.
#pragma once

#include <cstdint>

namespace tapestry::kernels {

template <class T>
struct Softmax {
    using Forward = void (*)(T* y, const T* x, std::int64_t rows, std::int64_t n);
    using Backward = void (*)(T* dx, const T* y, const T* g, std::int64_t rows, std::int64_t n);

    /// y = exp(x - m) / sum exp(x - m), m = max x; zeros for a row of only -inf.
    Forward softmax;
    /// y = x - m - log sum exp(x - m); -inf for a row of only -inf.
    Forward log_softmax;
    /// dx = y (g - sum g y), from the output y of softmax.
    Backward softmax_backward;
    /// dx = g - exp(y) sum g, from the output y of log_softmax.
    Backward log_softmax_backward;
};

// ---- cross-entropy ------------------------------------------------------------------------------
// A row's loss is -sum_j q_j log p_j with p = softmax(logits) and q the target's distribution under
// label smoothing s over V classes (Szegedy et al., 2016): q_j = (1 - s) [j = target] + s / V. That
// is lse - (1 - s) x[target] - s avg(x), lse = log sum exp(x): no row of probabilities is kept.

template <class T>
struct CrossEntropy {
    struct Rows {
        const T* x;                  ///< [rows, classes]
        const std::int64_t* target;  ///< [rows]; each in [0, classes), or ignored
        std::int64_t classes;
        std::int64_t ignored;  ///< rows with this target have no loss and no gradient
        T smoothing;
    };

    /// loss[r] and lse[r] for begin <= r < end; both 0 where ignored.
    void (*forward)(T* loss, T* lse, const Rows& rows, std::int64_t begin, std::int64_t end);

    /// dx[r, j] = g[r * g_step] scale (p_j - q_j), in one pass; 0 where ignored. dx may be rows.x.
    void (*backward)(T* dx, const T* lse, const T* g, std::int64_t g_step, T scale,
                     const Rows& rows, std::int64_t begin, std::int64_t end);
};

}  // namespace tapestry::kernels
