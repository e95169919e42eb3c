// Linear layers, y = x W^T + b, and the precision of a model: what activations are computed in
// (ComputeType), a parameter as an operand beside them, and a trained model's weights in fewer bits
// (keep_weights).
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/module/config_fields.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/int8_rows.h>

#include <memory>

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

/// x [..., in] -> [..., out], with weight [out, in] and bias [out], both uniform in
/// +-1/sqrt(in) at the start, as PyTorch's.
class Linear : public Module {
public:
    Tensor weight;  // [out, in]
    Tensor bias;    // [out], undefined if there is none

    /// Throws ValueError unless both sizes are positive.
    Linear(std::int64_t in, std::int64_t out, bool with_bias = true,
           Generator& generator = default_generator());

    Linear(std::int64_t in, std::int64_t out, Generator& generator)
        : Linear(in, out, true, generator) {}

    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

    /// From now on the weight is one of int8 (ops/int8_rows.h): `weight` is undefined, and no
    /// parameter any more. No way back, and no gradient. Throws as int8_rows does.
    void keep_int8();

private:
    std::shared_ptr<const Int8Rows> int8_;  // null: there is a weight
};

/// A trained model's weights in fewer bits, for writing with it: where one token at a time is
/// computed, memory sets the pace, and half or a quarter of the bytes take little more than half or
/// a quarter of the time.
///
///     keep_weights(*loaded.model, WeightType::int8);
///     sample(*loaded.model, ...);
enum class WeightType { f32, bf16, int8 };

template <>
struct NamesOf<WeightType> {
    static constexpr EnumNames<WeightType, 3> list{
        {{WeightType::f32, "f32"}, {WeightType::bf16, "bf16"}, {WeightType::int8, "int8"}}};
};

/// bf16: all parameters and buffers, and with them what is computed (Module::to). int8: the
/// matrices of linear layers (Linear::keep_int8), which then compute forward alone; all else, and
/// what is computed, stays f32. f32: nothing. Throws as those do.
void keep_weights(Module& model, WeightType type);

}  // namespace tapestry
