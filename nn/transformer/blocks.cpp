#include <tapestry/nn/transformer/blocks.h>

#include <tapestry/nn/transformer/run_layers.h>
#include <tapestry/ops/arithmetic.h>

#include <fmt/format.h>

namespace tapestry {
MultiHeadAttentionConfig self_attention_config(const TransformerLayerConfig& config) {
    return {.dim = config.dim,
            .heads = config.heads,
            .kv_heads = config.kv_heads,
            .causal = config.causal,
            .dropout = config.attention_dropout.value_or(config.dropout),
            .head_dropout = config.head_dropout,
            .bias = config.bias,
            .positions = config.positions,
            .rotary = config.rotary,
            .qk_norm = config.qk_norm,
            .norm_eps = config.norm_eps,
            .form = config.form};
}

FeedForwardConfig feed_forward_config(const TransformerLayerConfig& config) {
    return {.dim = config.dim,
            .hidden = config.hidden,
            .activation = config.activation,
            .bias = config.bias};
}

TransformerBlock::TransformerBlock(const TransformerLayerConfig& config, Generator& generator)
    : Module("TransformerBlock"),
      attention_norm(config.dim, config.norm_eps, config.bias),
      attention(self_attention_config(config), generator),
      feed_forward_norm(config.dim, config.norm_eps, config.bias),
      feed_forward(feed_forward_config(config), generator),
      residual_dropout(config.dropout, generator),
      norm_first_(config.norm_first) {
    register_module("attention_norm", attention_norm);
    register_module("attention", attention);
    register_module("feed_forward_norm", feed_forward_norm);
    register_module("feed_forward", feed_forward);
    register_module("residual_dropout", residual_dropout);
}

Tensor TransformerBlock::operator()(const Tensor& x, const TransformerBlockInputs& inputs) const {
    const ModuleScope scope(name());
    const AttentionInputs with{.mask = inputs.mask, .cache = inputs.cache, .record = inputs.record};
    if (norm_first_) {
        const Tensor h = x + residual_dropout(attention(attention_norm(x), with));  // [B, T, C]
        return hooked(h + residual_dropout(feed_forward(feed_forward_norm(h))), x);
    }
    const Tensor h = attention_norm(x + residual_dropout(attention(x, with)));  // [B, T, C]
    return hooked(feed_forward_norm(h + residual_dropout(feed_forward(h))), x);
}

std::string TransformerBlock::settings() const { return norm_first_ ? "norm first" : "norm last"; }

TransformerStack::TransformerStack(const TransformerStackConfig& config, Generator& generator)
    : Module("TransformerStack"), recompute_(config.recompute) {
    require(config.layers >= 1, "TransformerStack: layers must be at least 1, got {}",
            config.layers);
    for (std::int64_t i = 0; i < config.layers; ++i) {
        layers.emplace_back(*this, fmt::format("{}", i),
                            std::make_unique<TransformerBlock>(config.layer, generator));
    }
    if (config.final_norm) {
        norm.emplace(config.layer.dim, config.layer.norm_eps, config.layer.bias);
        register_module("norm", *norm);
    }
}

Tensor TransformerStack::operator()(const Tensor& x, const TransformerStackInputs& inputs) const {
    const ModuleScope scope(name());
    const Tensor y = run_layers("TransformerStack", layers, x, inputs, recompute_);
    return hooked(norm ? (*norm)(y) : y, x);  // [B, T, C]
}

// ---- the decoder --------------------------------------------------------------------------------

namespace {

MultiHeadAttentionConfig causal_attention_config(const TransformerLayerConfig& config) {
    MultiHeadAttentionConfig result = self_attention_config(config);
    result.causal = true;
    return result;
}

// Cross-attention has no positions in common with the target, and is not causal.
MultiHeadAttentionConfig cross_attention_config(const TransformerLayerConfig& config) {
    MultiHeadAttentionConfig result = self_attention_config(config);
    result.causal = false;
    result.positions = Positions::none;
    result.form = {};
    return result;
}

}  // namespace

DecoderLayer::DecoderLayer(const TransformerLayerConfig& config, Generator& generator)
    : Module("DecoderLayer"),
      attention_norm(config.dim, config.norm_eps, config.bias),
      attention(causal_attention_config(config), generator),
      cross_attention_norm(config.dim, config.norm_eps, config.bias),
      cross_attention(cross_attention_config(config), generator),
      feed_forward_norm(config.dim, config.norm_eps, config.bias),
      feed_forward(feed_forward_config(config), generator),
      residual_dropout(config.dropout, generator),
      norm_first_(config.norm_first) {
    register_module("attention_norm", attention_norm);
    register_module("attention", attention);
    register_module("cross_attention_norm", cross_attention_norm);
    register_module("cross_attention", cross_attention);
    register_module("feed_forward_norm", feed_forward_norm);
    register_module("feed_forward", feed_forward);
    register_module("residual_dropout", residual_dropout);
}

Tensor DecoderLayer::operator()(const Tensor& x, const Tensor& memory,
                                const DecoderLayerInputs& inputs) const {
    const ModuleScope scope(name());
    DecoderCache* const cache = inputs.cache;
    DecoderRecord* const record = inputs.record;
    const AttentionInputs back{.mask = inputs.mask,
                               .cache = cache != nullptr ? &cache->self : nullptr,
                               .record = record != nullptr ? &record->self : nullptr};
    const AttentionInputs across{.keys = memory,
                                 .mask = inputs.memory_mask,
                                 .cache = cache != nullptr ? &cache->memory : nullptr,
                                 .record = record != nullptr ? &record->memory : nullptr};
    if (norm_first_) {  // all [B, T, C]
        const Tensor h = x + residual_dropout(attention(attention_norm(x), back));
        const Tensor m = h + residual_dropout(cross_attention(cross_attention_norm(h), across));
        return hooked(m + residual_dropout(feed_forward(feed_forward_norm(m))), x, memory);
    }
    const Tensor h = attention_norm(x + residual_dropout(attention(x, back)));
    const Tensor m = cross_attention_norm(h + residual_dropout(cross_attention(h, across)));
    return hooked(feed_forward_norm(m + residual_dropout(feed_forward(m))), x, memory);
}

std::string DecoderLayer::settings() const { return norm_first_ ? "norm first" : "norm last"; }

Decoder::Decoder(const DecoderConfig& config, Generator& generator) : Module("Decoder") {
    require(config.layers >= 1, "Decoder: layers must be at least 1, got {}", config.layers);
    for (std::int64_t i = 0; i < config.layers; ++i) {
        layers.emplace_back(*this, fmt::format("{}", i),
                            std::make_unique<DecoderLayer>(config.layer, generator));
    }
    if (config.final_norm) {
        norm.emplace(config.layer.dim, config.layer.norm_eps, config.layer.bias);
        register_module("norm", *norm);
    }
}

Tensor Decoder::operator()(const Tensor& x, const Tensor& memory,
                           const DecoderInputs& inputs) const {
    const ModuleScope scope(name());
    Tensor y = x;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        y = (*layers[i])(y, memory,
                         {.mask = inputs.mask,
                          .memory_mask = inputs.memory_mask,
                          .cache = of_layer("Decoder", inputs.caches, i, layers.size()),
                          .record = of_layer("Decoder", inputs.records, i, layers.size())});
    }
    return hooked(norm ? (*norm)(y) : y, x, memory);  // [B, T, C]
}

}  // namespace tapestry
