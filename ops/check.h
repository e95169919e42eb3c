// For op authors: the argument checks common to all ops, and helpers for Op::decisions().
#pragma once

#include <tapestry/core/create.h>
#include <tapestry/ops/comparison.h>

#include <string_view>

namespace tapestry {

/// Throws Error, "OP: got an undefined tensor", unless x is defined.
inline void check_defined(std::string_view op, const Tensor& x) {
    require<Error>(x.defined(), "{}: got an undefined tensor", op);
}

/// Throws DTypeError unless x has the dtype `wanted`, and as check_defined().
inline void check_dtype(std::string_view op, const Tensor& x, DType wanted) {
    check_defined(op, x);
    require<DTypeError>(x.dtype() == wanted, "{}: needs {}, got {}", op, wanted, x.dtype());
}

/// Throws DTypeError unless x is f32, f64, bf16 or f16, and as check_defined().
inline void check_floating(std::string_view op, const Tensor& x) {
    check_defined(op, x);
    require<DTypeError>(is_floating(x.dtype()), "{}: needs floating-point numbers, got {}", op,
                        x.dtype());
}

/// Throws DTypeError unless a and b have one dtype, and as check_defined().
inline void check_same_dtype(std::string_view op, const Tensor& a, const Tensor& b) {
    check_defined(op, a);
    check_defined(op, b);
    require<DTypeError>(a.dtype() == b.dtype(),
                        "{}: element types differ: {} and {}; convert with to()", op, a.dtype(),
                        b.dtype());
}

// ---- decisions ----------------------------------------------------------------------------------
// The side of a kink on which each element lies.

/// How many of the conditions hold for each element, as i64. The conditions are contiguous bool
/// tensors of one shape.
inline Tensor how_many(const Tensors& conditions) {
    Tensor count = zeros(conditions.at(0).shape(), DType::i64);
    std::int64_t* to = count.mutable_data<std::int64_t>();
    for (const Tensor& condition : conditions) {
        const bool* holds = condition.data<bool>();
        for (std::int64_t i = 0; i < count.numel(); ++i) to[i] += holds[i] ? 1 : 0;
    }
    return count;
}

/// 0 where a < b, 1 where a = b, 2 where a > b; b is a tensor or a number. NaN counts as below.
template <class B>
Tensor side_of(const Tensor& a, const B& b) {
    return how_many({ge(a, b), gt(a, b)});
}

}  // namespace tapestry
