// Reductions of a row to a number, and of a stack of rows to a row.
//
// ops/reduce_axes.cpp cuts tensors into such pieces and distributes them to threads.
#pragma once

#include <cstdint>

namespace tapestry::kernels {

template <class T>
struct Reduce {
    /// y[r] = sum, max or min of x[r * n + i] over 0 <= i < n, for 0 <= r < rows.
    using Rows = void (*)(T* y, const T* x, std::int64_t rows, std::int64_t n);

    /// y[j] = sum, max or min of x[i * stride + j] over 0 <= i < rows, for 0 <= j < n.
    using Columns = void (*)(T* y, const T* x, std::int64_t rows, std::int64_t stride,
                             std::int64_t n);

    struct Kernel {
        Rows rows;
        Columns columns;
    };

    Kernel sum;
    Kernel max;  ///< NaN wins
    Kernel min;  ///< NaN wins

    /// y[r] = log(sum_i exp(x[r * n + i])), without overflow.
    Rows logsumexp;

    /// sum_i x[i]^2, summed in double.
    double (*sum_of_squares)(const T* x, std::int64_t n);
};

}  // namespace tapestry::kernels
