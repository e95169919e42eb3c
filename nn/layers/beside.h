// What a model is computed in, and its parameters beside that.
#pragma once

#include <tapestry/nn/module/config_fields.h>
#include <tapestry/ops/cast.h>

namespace tapestry {

/// What activations are kept and multiplied in. Parameters, their gradients and the optimiser's
/// state stay f32, and so do sums, statistics and losses (core/dtype.h).
enum class ComputeType { f32, bf16 };

template <>
struct NamesOf<ComputeType> {
    static constexpr EnumNames<ComputeType, 2> list{
        {{ComputeType::f32, "f32"}, {ComputeType::bf16, "bf16"}}};
};

/// A parameter as an operand beside x: of x's type, if that is one of 16 bits. The tape sees the
/// conversion, which gives the gradient back as f32.
inline Tensor beside(const Tensor& x, const Tensor& parameter) {
    return parameter.defined() && is_half(x.dtype()) ? to(parameter, x.dtype()) : parameter;
}

}  // namespace tapestry
