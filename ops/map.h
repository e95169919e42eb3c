// The forward pass of elementwise ops, for those who write ops: raw numbers in, a constant out.
// F is a functor of ops/kernels/unary.h, binary.h or ternary.h, found in the kernel table by its
// position. Internal to ops.
#pragma once

#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/kernels/table.h>

#include <array>

namespace tapestry {

/// y[i] = F(x[i])
template <class F>
Tensor map_unary(std::string_view op, const Tensor& x) {
    check_floating(op, x);
    const Tensor in = dense(x);
    Tensor y(x.shape(), x.dtype());
    visit_floating(op, x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const auto f =
            kernels::table<T>().elementwise.unary[kernels::kIndexOf<F, kernels::UnaryFunctions>];
        const T* from = in.data<T>();
        T* to = y.mutable_data<T>();
        parallel_for(y.numel(), kGrain, [=](std::int64_t begin, std::int64_t end) {
            f(to + begin, from + begin, end - begin);
        });
    });
    return y;
}

namespace detail {

// A kernel's operand may repeat one value or run on; other inner strides are copied away.
template <std::size_t N>
bool has_row(const Loop<N>& loop, std::size_t operand) {
    const std::int64_t step = loop.inner_stride(operand);
    return step == 0 || step == 1;
}

template <class T, class F>
void map_binary_into(Tensor& y, Tensor a, Tensor b) {
    const auto planned = [&y](const Tensor& left, const Tensor& right) {
        return Loop<3>(y.shape(), {y.strides(), broadcast_strides(left, y.shape()),
                                   broadcast_strides(right, y.shape())});
    };
    Loop<3> loop = planned(a, b);
    if (!has_row(loop, 1)) a = dense(a);
    if (!has_row(loop, 2)) b = dense(b);
    loop = planned(a, b);
    const auto f =
        kernels::table<T>().elementwise.binary[kernels::kIndexOf<F, kernels::BinaryFunctions>];
    const T* from_a = a.data<T>();
    const T* from_b = b.data<T>();
    T* to = y.mutable_data<T>();
    loop.for_each_row([&](const auto& offsets, std::int64_t n) {
        f(to + offsets[0], from_a + offsets[1], loop.inner_stride(1), from_b + offsets[2],
          loop.inner_stride(2), n);
    });
}

template <class T, class F>
void map_ternary_into(Tensor& y, std::array<Tensor, 3> x) {
    const auto planned = [&] {
        return Loop<4>(y.shape(),
                       {y.strides(), broadcast_strides(x[0], y.shape()),
                        broadcast_strides(x[1], y.shape()), broadcast_strides(x[2], y.shape())});
    };
    const Loop<4> as_given = planned();
    for (std::size_t i = 0; i < 3; ++i) {
        if (!has_row(as_given, i + 1)) x[i] = dense(x[i]);
    }
    const Loop<4> loop = planned();
    const auto f =
        kernels::table<T>().elementwise.ternary[kernels::kIndexOf<F, kernels::TernaryFunctions>];
    const T* from[] = {x[0].data<T>(), x[1].data<T>(), x[2].data<T>()};
    T* to = y.mutable_data<T>();
    loop.for_each_row([&](const auto& offsets, std::int64_t n) {
        f(to + offsets[0], from[0] + offsets[1], loop.inner_stride(1), from[1] + offsets[2],
          loop.inner_stride(2), from[2] + offsets[3], loop.inner_stride(3), n);
    });
}

}  // namespace detail

/// y[i] = F(a[i], b[i]), broadcast as NumPy does.
template <class F>
Tensor map_binary(std::string_view op, const Tensor& a, const Tensor& b) {
    check_floating(op, a);
    check_same_dtype(op, a, b);
    Tensor y(broadcast_shapes(op, a.shape(), b.shape()), a.dtype());
    visit_floating(op, a.dtype(),
                   [&](auto zero) { detail::map_binary_into<decltype(zero), F>(y, a, b); });
    return y;
}

/// y[i] = F(a[i], b[i], c[i]), likewise.
template <class F>
Tensor map_ternary(std::string_view op, const Tensor& a, const Tensor& b, const Tensor& c) {
    check_floating(op, a);
    check_same_dtype(op, a, b);
    check_same_dtype(op, a, c);
    const Shape shape = broadcast_shapes(op, broadcast_shapes(op, a.shape(), b.shape()), c.shape());
    Tensor y(shape, a.dtype());
    visit_floating(op, a.dtype(), [&](auto zero) {
        detail::map_ternary_into<decltype(zero), F>(y, {a, b, c});
    });
    return y;
}

}  // namespace tapestry
