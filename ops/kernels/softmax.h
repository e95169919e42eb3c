// Softmax along rows, and its gradient.
//
// Rows are dense: element i of row r is x[r * n + i]. y may be x, dx may be g.
#pragma once

#include <cstdint>

namespace tapestry::kernels {

template <class T>
struct Softmax {
    using Forward = void (*)(T* y, const T* x, std::int64_t rows, std::int64_t n);
    using Backward = void (*)(T* dx, const T* y, const T* g, std::int64_t rows, std::int64_t n);

    /// y = exp(x - m) / sum exp(x - m), m = max x; zeros for a row of -inf alone.
    Forward softmax;
    /// y = x - m - log sum exp(x - m); -inf for a row of -inf alone.
    Forward log_softmax;
    /// dx = y (g - sum g y), from the output y of softmax.
    Backward softmax_backward;
    /// dx = g - exp(y) sum g, from the output y of log_softmax.
    Backward log_softmax_backward;
};

}  // namespace tapestry::kernels
