// Elementwise loops in plain C++, for those who write ops: for whole numbers, truth values, and
// functions that nobody calls often enough for a kernel (map.h has those with one).
// Internal to ops.
#pragma once

#include <tapestry/core/loop.h>

namespace tapestry {

/// What a function whose result is a `Result` leaves in memory beside elements of type T: of those
/// of 16 bits, what is computed of them is rounded to their type.
template <class T, class Result>
using PlainElement = std::conditional_t<kIsHalf<T> && std::is_same_v<Result, float>, T, Result>;

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
        if (to_step == 1 && step == 1) {  // compilers make vectors of this one
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
        if (to_step == 1 && a_step == 1 && b_step == 1) {  // compilers make vectors of these two
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

}  // namespace tapestry
