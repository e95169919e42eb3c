// Sizes of attention's parameters other than the projections, computed from a model's
// configuration. Internal to nn/models.
#pragma once

#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/attention/position_bias.h>
#include <tapestry/nn/layers/embedding.h>

namespace tapestry {

/// Width of a token's keys, and of its values: dim, or less if heads share them.
template <class Config>
double shared_width(const Config& config) {
    const auto dim = static_cast<double>(config.dim);
    if (config.kv_heads == 0 || config.heads < 1) return dim;  // a file may say 0 heads
    return dim / static_cast<double>(config.heads) * static_cast<double>(config.kv_heads);
}

/// Of one attention module: the norms of queries and keys.
template <class Config>
double head_norm_numbers(const Config& config) {
    if (config.qk_norm == QKNorm::none || config.heads < 1) return 0;
    const bool biased = config.qk_norm == QKNorm::layer && config.bias;
    return (biased ? 4 : 2) * static_cast<double>(config.dim) / static_cast<double>(config.heads);
}

/// Of one self-attention module: the table of relative positions.
template <class Config>
double relative_table_numbers(const Config& config) {
    if (config.positions != Positions::relative) return 0;
    return static_cast<double>(RelativeBiasConfig().buckets) * static_cast<double>(config.heads);
}

}  // namespace tapestry
