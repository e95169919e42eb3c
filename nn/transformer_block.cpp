#include <tapestry/nn/transformer_block.h>
#include <tapestry/ops/arithmetic.h>

namespace tapestry {

TransformerBlock::TransformerBlock(const TransformerBlockConfig& config, Generator& generator)
    : Module("TransformerBlock"),
      attention_norm(config.dim, 1e-5, config.bias),
      attention({.dim = config.dim,
                 .heads = config.heads,
                 .causal = config.causal,
                 .dropout = config.dropout,
                 .bias = config.bias},
                generator),
      feed_forward_norm(config.dim, 1e-5, config.bias),
      feed_forward({.dim = config.dim, .bias = config.bias}, generator),
      residual_dropout(config.dropout, generator) {
    register_module("attention_norm", attention_norm);
    register_module("attention", attention);
    register_module("feed_forward_norm", feed_forward_norm);
    register_module("feed_forward", feed_forward);
    register_module("residual_dropout", residual_dropout);
}

Tensor TransformerBlock::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    const Tensor h = x + residual_dropout(attention(attention_norm(x)));  // [B, T, C]
    return h + residual_dropout(feed_forward(feed_forward_norm(h)));      // [B, T, C]
}

}  // namespace tapestry
