#include <tapestry/nn/transformer/block.h>

#include <tapestry/ops/arithmetic.h>

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

}  // namespace tapestry
