// QK-norm: queries and keys normalised head by head before they meet, so that no score outgrows the
// softmax however large the projections become.
#pragma once

#include <tapestry/nn/module/config_fields.h>
#include <tapestry/nn/module/module.h>

namespace tapestry {

/// How queries and keys are normalised.
enum class QKNorm { none, rms, layer };

template <>
struct NamesOf<QKNorm> {
    static constexpr EnumNames<QKNorm, 3> list{
        {{QKNorm::none, "none"}, {QKNorm::rms, "rms"}, {QKNorm::layer, "layer"}}};
};

/// x [..., D], each vector by itself, with one weight (and bias) for all heads.
/// Sources: Henry et al. 2020, "Query-Key Normalization for Transformers"; layer norm: Dehghani et
/// al. 2023, "Scaling Vision Transformers to 22 Billion Parameters"; RMS norm: Qwen 3, Gemma 3.
class HeadNorm : public Module {
public:
    Tensor weight;  // [D], ones
    Tensor bias;    // [D], zeros; undefined for RMS norm, or without

    /// `kind` rms or layer (ops/norm.h).
    HeadNorm(QKNorm kind, std::int64_t width, double eps, bool with_bias);
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

private:
    QKNorm kind_;
    double eps_;
};

}  // namespace tapestry
