// Reductions of a row to a number, and of a stack of rows to a row.
//
// ops/fold.cpp cuts a tensor into such pieces and hands them to threads.
#pragma once

#include <cstdint>

namespace tapestry::kernels {

template <class T>
struct Reduce {
    /// y[r] = fold of x[r * n + i] over 0 <= i < n, for 0 <= r < rows.
    using Rows = void (*)(T* y, const T* x, std::int64_t rows, std::int64_t n);

    /// y[j] = fold of x[i * stride + j] over 0 <= i < rows, for 0 <= j < n.
    using Columns = void (*)(T* y, const T* x, std::int64_t rows, std::int64_t stride,
                             std::int64_t n);

    struct Fold {
        Rows rows;
        Columns columns;
    };

    Fold sum;
    Fold max;  ///< NaN wins
    Fold min;  ///< NaN wins

    /// y[r] = log(sum_i exp(x[r * n + i])), without overflow.
    Rows logsumexp;

    /// sum_i x[i]^2, added up in double.
    double (*sum_of_squares)(const T* x, std::int64_t n);
};

}  // namespace tapestry::kernels
