// Elementwise functions over contiguous rows.
#pragma once

#include <tapestry/ops/kernels/binary.h>
#include <tapestry/ops/kernels/unary.h>

#include <cstdint>

namespace tapestry::kernels {

template <class T>
struct Elementwise {
    /// y[i] = f(x[i]), 0 <= i < n; y may be x.
    using Unary = void (*)(T* y, const T* x, std::int64_t n);
    Unary unary[UnaryFunctions::size];

    /// y[i] = f(a[i * a_step], b[i * b_step]), steps 0 (one value for all) or 1; y may be a or b.
    using Binary = void (*)(T* y, const T* a, std::int64_t a_step, const T* b, std::int64_t b_step,
                            std::int64_t n);
    Binary binary[BinaryFunctions::size];

    /// y[i] = f(a[i * a_step], b[i * b_step], c[i * c_step]), likewise.
    using Ternary = void (*)(T* y, const T* a, std::int64_t a_step, const T* b, std::int64_t b_step,
                             const T* c, std::int64_t c_step, std::int64_t n);
    Ternary ternary[TernaryFunctions::size];
};

}  // namespace tapestry::kernels
