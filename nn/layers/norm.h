// Normalisation of each vector along the last axis.
#pragma once

#include <tapestry/nn/module/module.h>

namespace tapestry {

/// (x - mean) / sqrt(var + eps) * weight + bias over the last axis, which has `dim` entries.
/// Source: Ba, Kiros and Hinton 2016, "Layer Normalization".
class LayerNorm : public Module {
public:
    Tensor weight;  // [dim], ones
    Tensor bias;    // [dim], zeros; undefined if there is none

    explicit LayerNorm(std::int64_t dim, double eps = 1e-5, bool with_bias = true);
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

private:
    double eps_;
};

/// x / sqrt(mean(x^2) + eps) * weight over the last axis.
/// Source: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization".
class RMSNorm : public Module {
public:
    Tensor weight;  // [dim], ones

    explicit RMSNorm(std::int64_t dim, double eps = 1e-6);
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

private:
    double eps_;
};

}  // namespace tapestry
