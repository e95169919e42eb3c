// Linear layers, y = x W^T + b, and a model's precision: the type of its activations (ComputeType),
// casting parameters to it, and a trained model's weights in fewer bits (quantize_weights).
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/layers/low_rank.h>
#include <tapestry/nn/module/config_fields.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/int8_rows.h>

#include <memory>
#include <vector>

namespace tapestry {

/// The type in which activations are stored and multiplied. Parameters, their gradients and the
/// optimiser's state stay f32, as do sums, statistics and losses (core/dtype.h).
enum class ComputeType {
    f32,  ///< 32 bits
    bf16  ///< 16 bits; sums and statistics stay f32
};

template <>
struct NamesOf<ComputeType> {
    static constexpr EnumNames<ComputeType, 2> list{
        {{ComputeType::f32, "f32"}, {ComputeType::bf16, "bf16"}}};
};

/// The dtype of activations, and of parameters stored in this type.
constexpr DType dtype_of(ComputeType type) {
    return type == ComputeType::f32 ? DType::f32 : DType::bf16;
}

/// `parameter` cast to x's dtype if x is narrow; undefined if it is. The tape records the
/// conversion, so the gradient is f32 again.
inline Tensor cast_like(const Tensor& x, const Tensor& parameter) {
    return parameter.defined() && is_narrow(x.dtype()) ? to(parameter, x.dtype()) : parameter;
}

/// Its former name.
[[deprecated("use cast_like")]] inline Tensor beside(const Tensor& x, const Tensor& parameter) {
    return cast_like(x, parameter);
}

/// x [..., in] -> [..., out], with weight [out, in] and bias [out], both initially uniform in
/// +-1/sqrt(in), as PyTorch's. Low-rank updates, if there are any, are added to the result.
class Linear : public Module {
public:
    Tensor weight;  ///< [out, in]; undefined once quantised
    Tensor bias;    ///< [out]; undefined if there is none

    /// Throws ValueError unless both sizes are positive.
    Linear(std::int64_t in, std::int64_t out, bool with_bias = true,
           Generator& generator = default_generator());

    /// The same, with a bias.
    Linear(std::int64_t in, std::int64_t out, Generator& generator)
        : Linear(in, out, true, generator) {}

    /// x [..., in] -> [..., out]. Throws ShapeError and DTypeError as linear() does.
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

    /// Replaces the weight with int8 rows (ops/int8_rows.h), irreversibly: `weight` becomes
    /// undefined and is no longer a parameter. Gradients reach the input, the bias and low-rank
    /// updates. Throws as int8_rows does.
    void keep_int8();
    /// The int8 rows; null unless it has such.
    const Int8Rows* int8() const { return int8_.get(); }
    /// "blocks.3.attention.qkv.weight", in the model that it is a part of; also for int8 rows, as
    /// when they were made.
    std::string weight_name() const;
    std::int64_t in() const;   ///< size of an input
    std::int64_t out() const;  ///< size of an output

    /// Adds a low-rank update to rows [first, first + rows) of the output, as the module `name`.
    /// Its parameters have the weight's dtype, or f32 for a narrow one. Throws ValueError for
    /// rows that another update has, and as LowRank does. Read next: nn/models/lora.h.
    LowRank& add_update(const std::string& name, std::int64_t first, std::int64_t rows,
                        const LowRankConfig& config, Generator& generator);
    /// Its low-rank updates, in the order of their rows.
    const std::vector<std::unique_ptr<LowRank>>& updates() const { return updates_; }

private:
    bool adds_updates_at_once() const;
    Tensor update_of(const Tensor& x) const;

    std::vector<std::unique_ptr<LowRank>> updates_;
    std::shared_ptr<const Int8Rows> int8_;  // null: `weight` is used
    std::string int8_name_;
};

/// A trained model's weights in fewer bits, for generation: computing one token at a time is
/// limited by memory bandwidth, so half or a quarter of the bytes takes little more than half or a
/// quarter of the time.
///
///     const LoadedModel loaded = load_model("runs/book", WeightType::int8);
///     sample(*loaded.model, ...);
enum class WeightType {
    f32,   ///< 32 bits, unchanged
    bf16,  ///< 16 bits, rounded to nearest
    int8   ///< 8 bits and a scale per row (ops/int8_rows.h)
};

template <>
struct NamesOf<WeightType> {
    static constexpr EnumNames<WeightType, 3> list{
        {{WeightType::f32, "f32"}, {WeightType::bf16, "bf16"}, {WeightType::int8, "int8"}}};
};

/// bf16: converts all parameters and buffers, and with them the activations (Module::to). int8:
/// converts the matrices of linear layers (Linear::keep_int8), which then do not train; everything
/// else, and the activations, stay f32. f32: does nothing. Throws as those do.
void quantize_weights(Module& model, WeightType type);

/// Its former name.
[[deprecated("use quantize_weights")]] inline void keep_weights(Module& model, WeightType type) {
    quantize_weights(model, type);
}

}  // namespace tapestry
