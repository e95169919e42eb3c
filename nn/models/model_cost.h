// Parts that the costs of models share: sizes of attention, an encoder's blocks, bytes of
// training. Numbers are floating-point: products of sizes may not fit into 64 bits. Internal to
// nn/models.
#pragma once

#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/attention/position_bias.h>
#include <tapestry/nn/models/model_types.h>

#include <algorithm>

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

/// Blocks of attention with as many keys as queries and a network of two layers, all with biases.
struct BlockSizes {
    double dim;     ///< width of the model
    double heads;   ///< at least 1, because a file may say 0
    double layers;  ///< number of blocks
    double hidden;  ///< of the feed-forward networks

    /// The sizes of a configuration with these fields.
    template <class Config>
    explicit BlockSizes(const Config& config)
        : dim(static_cast<double>(config.dim)),
          heads(std::max(1.0, static_cast<double>(config.heads))),
          layers(static_cast<double>(config.layers)),
          hidden(config.hidden == 0 ? 4 * dim : static_cast<double>(config.hidden)) {}

    /// Parameters of a norm.
    double norm() const { return 2 * dim; }
    /// Weights of a block.
    double products() const { return 4 * dim * dim + 2 * dim * hidden; }
    /// Parameters of a block.
    double parameters() const { return products() + 4 * dim + hidden + dim + 2 * norm(); }
    /// Numbers that the tape keeps per token: in each block the inputs of norms, q k v, the heads,
    /// the hidden layer before and after its activation, the residual stream.
    double kept() const { return layers * (9 * dim + 2 * hidden); }
};

/// Bytes of the parameters with their gradients and moments, and of the numbers that the tape
/// keeps. Gradients that are summed over several sets are f32.
template <class Config>
double training_memory(const Config& config, double kept, std::int64_t gradient_sets,
                       std::int64_t moments) {
    const auto bytes = [](ComputeType type) {
        return static_cast<double>(size_of(dtype_of(type)));
    };
    const double number = bytes(config.weights);
    const double gradients = gradient_sets > 1 ? 4 * static_cast<double>(gradient_sets) : number;
    return (static_cast<double>(1 + moments) * number + gradients) * parameter_count(config) +
           bytes(computed_type(config)) * kept;
}

}  // namespace tapestry
