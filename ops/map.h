// The forward pass of elementwise ops, for op authors: by a kernel, or by a loop in plain C++.
// Results are constants. Internal to ops.
#pragma once

#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/kernels/table.h>

namespace tapestry {

// ---- in plain C++ -------------------------------------------------------------------------------
// For i64, bool, and functions too rarely used to deserve a kernel.

/// Stored type of a function's results for elements of type T: `Result`, except that half-precision
/// results are rounded to T.
template <class T, class Result>
using PlainElement = std::conditional_t<kIsNarrow<T> && std::is_same_v<Result, float>, T, Result>;

/// y[i] = f(x[i]) for elements x of type T; y has the shape of x and elements of f's type.
template <class T, class F>
void map_plain_into(Tensor& y, const Tensor& x, F f) {
    using To = PlainElement<T, decltype(f(Compute<T>()))>;
    const Loop<2> loop(y.shape(), {y.strides(), x.strides()});
    const T* from = x.data<T>();
    To* to = y.mutable_data<To>();
    const std::int64_t to_step = loop.inner_stride(0), step = loop.inner_stride(1);
    loop.for_each_row([&](const auto& offsets, std::int64_t n) {
        To* y_row = to + offsets[0];
        const T* x_row = from + offsets[1];
        if (to_step == 1 && step == 1) {  // the compiler vectorises this loop
            for (std::int64_t i = 0; i < n; ++i) y_row[i] = To(f(Compute<T>(x_row[i])));
        } else {
            for (std::int64_t i = 0; i < n; ++i) {
                y_row[i * to_step] = To(f(Compute<T>(x_row[i * step])));
            }
        }
    });
}

/// y[i] = f(a[i], b[i]) for elements of type T, a and b broadcast to the shape of y.
template <class T, class F>
void map_plain_into(Tensor& y, const Tensor& a, const Tensor& b, F f) {
    using To = PlainElement<T, decltype(f(Compute<T>(), Compute<T>()))>;
    const Loop<3> loop(
        y.shape(), {y.strides(), broadcast_strides(a, y.shape()), broadcast_strides(b, y.shape())});
    const T* from_a = a.data<T>();
    const T* from_b = b.data<T>();
    To* to = y.mutable_data<To>();
    const std::int64_t to_step = loop.inner_stride(0);
    const std::int64_t a_step = loop.inner_stride(1), b_step = loop.inner_stride(2);
    loop.for_each_row([&](const auto& offsets, std::int64_t n) {
        To* y_row = to + offsets[0];
        const T* a_row = from_a + offsets[1];
        const T* b_row = from_b + offsets[2];
        if (to_step == 1 && a_step == 1 && b_step == 1) {  // the compiler vectorises these two
            for (std::int64_t i = 0; i < n; ++i)
                y_row[i] = To(f(Compute<T>(a_row[i]), Compute<T>(b_row[i])));
        } else if (to_step == 1 && a_step == 1 && b_step == 0) {
            const auto b_value = Compute<T>(*b_row);
            for (std::int64_t i = 0; i < n; ++i) y_row[i] = To(f(Compute<T>(a_row[i]), b_value));
        } else {
            for (std::int64_t i = 0; i < n; ++i) {
                y_row[i * to_step] =
                    To(f(Compute<T>(a_row[i * a_step]), Compute<T>(b_row[i * b_step])));
            }
        }
    });
}

// ---- by a kernel --------------------------------------------------------------------------------
// F is a functor of ops/kernels/unary.h or binary.h; map.cpp only needs its index in the kernel
// table.

namespace detail {
Tensor map_unary(std::string_view op, int function, const Tensor& x);
Tensor map_binary(std::string_view op, int function, const Tensor& a, const Tensor& b);
Tensor map_ternary(std::string_view op, int function, const Tensor& a, const Tensor& b,
                   const Tensor& c);
void map_binary_into(std::string_view op, int function, Tensor& y, const Tensor& a,
                     const Tensor& b);
}  // namespace detail

/// y[i] = F(x[i])
template <class F>
Tensor map_unary(std::string_view op, const Tensor& x) {
    return detail::map_unary(op, kernels::kIndexOf<F, kernels::UnaryFunctions>, x);
}

/// y[i] = F(a[i], b[i]), broadcast as NumPy does.
template <class F>
Tensor map_binary(std::string_view op, const Tensor& a, const Tensor& b) {
    return detail::map_binary(op, kernels::kIndexOf<F, kernels::BinaryFunctions>, a, b);
}

/// The same into y, which has their dtype and broadcast shape, and may be one of them.
template <class F>
void map_binary_into(std::string_view op, Tensor& y, const Tensor& a, const Tensor& b) {
    detail::map_binary_into(op, kernels::kIndexOf<F, kernels::BinaryFunctions>, y, a, b);
}

/// y[i] = F(a[i], b[i], c[i]), likewise.
template <class F>
Tensor map_ternary(std::string_view op, const Tensor& a, const Tensor& b, const Tensor& c) {
    return detail::map_ternary(op, kernels::kIndexOf<F, kernels::TernaryFunctions>, a, b, c);
}

}  // namespace tapestry
