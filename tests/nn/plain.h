// The layers of nn/ in plain loops over the scalar definitions of ops/catalog/reference: the
// reference for the modules' values.
#pragma once

#include <tapestry/nn/models/gpt.h>
#include <tapestry/ops/catalog/reference/attention.h>
#include <tapestry/ops/catalog/reference/elementwise.h>
#include <tapestry/ops/catalog/reference/linalg.h>
#include <tapestry/ops/catalog/reference/loss.h>
#include <tapestry/ops/catalog/reference/norm.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace tapestry::test::plain {

using Numbers = reference::Array<double>;

/// Empty for an undefined tensor (no bias).
inline Numbers numbers(const Tensor& x) {
    Numbers result;
    if (!x.defined()) return result;
    result.shape = x.shape();
    result.data = x.to_vector<double>();
    return result;
}

inline Numbers add(const Numbers& a, const Numbers& b) {
    return reference::map(a, b, [](double x, double y) { return x + y; });
}

inline Numbers linear(const Numbers& x, const Linear& layer) {
    const Numbers bias = numbers(layer.bias);
    return reference::linear(x, numbers(layer.weight), layer.bias.defined() ? &bias : nullptr);
}

inline Numbers layer_norm(const Numbers& x, const LayerNorm& layer) {
    return reference::norm(x, numbers(layer.weight), numbers(layer.bias), 1e-5, true);
}

inline Numbers feed_forward(const Numbers& x, const FeedForward& layer) {
    return linear(reference::map(linear(x, layer.up), reference::gelu_tanh<double>), layer.down);
}

/// x [B, T, C]
inline Numbers attention(const Numbers& x, const MultiHeadAttention& layer, std::int64_t heads,
                         bool causal) {
    const std::int64_t batch = x.shape[0], length = x.shape[1], dim = x.shape[2];
    const std::int64_t width = dim / heads;
    const Numbers projected = linear(x, *layer.qkv);  // [B, T, 3 C]
    std::array<Numbers, 3> qkv;
    Numbers merged({batch, length, dim});
    // Calls f(index in [B, T, C], index in [B, H, T, D], row, column).
    const auto each = [&](auto&& f) {
        for (std::int64_t i = 0; i < merged.size(); ++i) {
            const std::int64_t column = i % dim, row = i / dim;
            const std::int64_t b = row / length, t = row % length;
            const std::int64_t h = column / width, d = column % width;
            f(i, ((b * heads + h) * length + t) * width + d, row, column);
        }
    };
    for (std::int64_t part = 0; part < 3; ++part) {
        Numbers& to = qkv[static_cast<std::size_t>(part)];
        to = Numbers({batch, heads, length, width});
        each([&](std::int64_t, std::int64_t place, std::int64_t row, std::int64_t column) {
            to[place] = projected[row * 3 * dim + part * dim + column];
        });
    }
    reference::Attention<double> options;
    options.causal = causal;
    options.scale = 1 / std::sqrt(static_cast<double>(width));
    const Numbers y = reference::attention(qkv[0], qkv[1], qkv[2], options);
    each([&](std::int64_t i, std::int64_t place, std::int64_t, std::int64_t) {
        merged[i] = y[place];
    });
    return linear(merged, layer.output);
}

inline Numbers block(const Numbers& x, const TransformerBlock& layer, std::int64_t heads,
                     bool causal) {
    const Numbers normed = layer_norm(x, layer.attention_norm);
    const Numbers h = add(x, attention(normed, layer.attention, heads, causal));
    return add(h, feed_forward(layer_norm(h, layer.feed_forward_norm), layer.feed_forward));
}

/// ids [B, T] -> logits [B, T, V], with only the first `layers` of the model's layers
inline Numbers gpt(const Tensor& ids, const GPT& model, std::size_t layers = SIZE_MAX) {
    const std::int64_t length = ids.size(1), dim = model.config().dim;
    const Numbers tokens = numbers(model.token_embedding.weight);
    const Numbers positions = numbers(model.position_embedding->weight);
    const auto places = ids.to_vector<std::int64_t>();
    Numbers x({ids.size(0), length, dim});
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const std::int64_t row = i / dim, column = i % dim;
        x[i] = tokens[places[static_cast<std::size_t>(row)] * dim + column] +
               positions[row % length * dim + column];
    }
    for (std::size_t i = 0; i < std::min(layers, model.blocks.layers.size()); ++i) {
        x = block(x, *model.blocks.layers[i], model.config().heads, true);
    }
    return linear(layer_norm(x, model.final_norm), model.head);
}

}  // namespace tapestry::test::plain
