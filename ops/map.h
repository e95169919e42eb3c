// The forward pass of elementwise ops, for those who write ops: raw numbers in, a constant out.
// F is a functor of ops/kernels/unary.h, binary.h or ternary.h, found in the kernel table by its
// position, which is all that map.cpp needs to know of it. Internal to ops.
#pragma once

#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/kernels/table.h>

namespace tapestry {

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

/// The same into y, which has the type of both and the shape they broadcast to, and may be one of
/// them.
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
