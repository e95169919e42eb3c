#include <tapestry/autograd/checkpoint.h>
#include <tapestry/nn/transformer/encoder.h>
#include <tapestry/nn/transformer/per_layer.h>
#include <tapestry/ops/arithmetic.h>

namespace tapestry {

MultiHeadAttentionConfig self_attention_config(const TransformerLayerConfig& config) {
    return {.dim = config.dim,
            .heads = config.heads,
            .causal = config.causal,
            .dropout = config.attention_dropout.value_or(config.dropout),
            .head_dropout = config.head_dropout,
            .bias = config.bias,
            .rotary = config.rotary,
            .form = config.form};
}

FeedForwardConfig feed_forward_config(const TransformerLayerConfig& config) {
    return {.dim = config.dim,
            .hidden = config.hidden,
            .activation = config.activation,
            .bias = config.bias};
}

EncoderLayer::EncoderLayer(const TransformerLayerConfig& config, Generator& generator)
    : Module("EncoderLayer"),
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

Tensor EncoderLayer::operator()(const Tensor& x, const EncoderLayerInputs& inputs) const {
    const ModuleScope scope(name());
    const AttentionInputs with{.mask = inputs.mask, .cache = inputs.cache, .record = inputs.record};
    if (norm_first_) {
        const Tensor h = x + residual_dropout(attention(attention_norm(x), with));  // [B, T, C]
        return h + residual_dropout(feed_forward(feed_forward_norm(h)));            // [B, T, C]
    }
    const Tensor h = attention_norm(x + residual_dropout(attention(x, with)));  // [B, T, C]
    return feed_forward_norm(h + residual_dropout(feed_forward(h)));            // [B, T, C]
}

std::string EncoderLayer::settings() const { return norm_first_ ? "norm first" : "norm last"; }

Encoder::Encoder(const EncoderConfig& config, Generator& generator)
    : Module("Encoder"), checkpoint_(config.checkpoint) {
    require(config.layers >= 1, "Encoder: {} layers; at least 1 is needed", config.layers);
    for (std::int64_t i = 0; i < config.layers; ++i) {
        layers.push_back(std::make_unique<EncoderLayer>(config.layer, generator));
        register_module(fmt::format("{}", i), *layers.back());
    }
    if (config.final_norm) {
        norm.emplace(config.layer.dim, config.layer.norm_eps, config.layer.bias);
        register_module("norm", *norm);
    }
}

Tensor Encoder::operator()(const Tensor& x, const EncoderInputs& inputs) const {
    const ModuleScope scope(name());
    const bool plain = inputs.caches == nullptr && inputs.records == nullptr;
    Tensor y = x;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const EncoderLayer& layer = *layers[i];
        if (checkpoint_ && plain) {
            const auto run = [&layer](const Tensors& t) {
                return Tensors{layer(t[0], {.mask = t[1]})};
            };
            y = checkpoint(run, {y, inputs.mask})[0];
            continue;
        }
        y = layer(y, {.mask = inputs.mask,
                      .cache = of_layer("Encoder", inputs.caches, i, layers.size()),
                      .record = of_layer("Encoder", inputs.records, i, layers.size())});
    }
    return norm ? (*norm)(y) : y;  // [B, T, C]
}

}  // namespace tapestry
