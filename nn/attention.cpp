#include <tapestry/nn/attention.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/view.h>

namespace tapestry {
namespace {

const MultiHeadAttentionConfig& checked(const MultiHeadAttentionConfig& config) {
    require(config.dim > 0 && config.heads > 0,
            "MultiHeadAttention: dim {} and heads {} must be positive", config.dim, config.heads);
    require(config.dim % config.heads == 0,
            "MultiHeadAttention: {} heads do not divide dim {} (remainder {})", config.heads,
            config.dim, config.dim % config.heads);
    require(config.dropout >= 0 && config.dropout <= 1,
            "MultiHeadAttention: dropout {} is no probability", config.dropout);
    return config;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionConfig& config, Generator& generator)
    : Module("MultiHeadAttention"),
      qkv(checked(config).dim, 3 * config.dim, config.bias, generator),
      output(config.dim, config.dim, config.bias, generator),
      config_(config),
      generator_(generator) {
    register_module("qkv", qkv);
    register_module("output", output);
}

Tensor MultiHeadAttention::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    require<ShapeError>(x.rank() == 3 && x.size(2) == config_.dim,
                        "MultiHeadAttention: needs [B, T, {}], got {}", config_.dim, x.shape());
    const std::int64_t batch = x.size(0);
    const std::int64_t length = x.size(1);
    const auto heads = [&](const Tensor& part) {  // [B, T, C] -> [B, H, T, D]
        const std::int64_t width = config_.dim / config_.heads;
        return transpose(reshape(part, {batch, length, config_.heads, width}), 1, 2);
    };
    const Tensors parts = split(qkv(x), config_.dim, -1);  // 3 times [B, T, C]
    const Tensor y = scaled_dot_product_attention(         // [B, H, T, D]
        heads(parts[0]), heads(parts[1]), heads(parts[2]),
        {.causal = config_.causal,
         .dropout = is_training() ? config_.dropout : 0,
         .generator = &generator_});
    return output(reshape(transpose(y, 1, 2), {batch, length, config_.dim}));  // [B, T, C]
}

std::string MultiHeadAttention::settings() const {
    return fmt::format("{} heads{}", config_.heads, config_.causal ? ", causal" : "");
}

}  // namespace tapestry
