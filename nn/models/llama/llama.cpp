#include <tapestry/nn/models/llama/llama.h>

#include <tapestry/core/skip_drawing.h>
#include <tapestry/core/text/message.h>
#include <tapestry/nn/module/check_ids.h>
#include <tapestry/nn/transformer/run_layers.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>

#include <cmath>

namespace tapestry {
namespace {

const char* title(const LlamaConfig& config) { return row_of(ModelConfig(config)).title; }

const LlamaConfig& checked(const LlamaConfig& config) {
    check_positive(title(config), config);
    require(config.deviation >= 0 && std::isfinite(config.deviation),
            "{}: deviation must be finite and >= 0, got {}", title(config), config.deviation);
    require(config.norm_eps >= 0, "{}: the norms' epsilon must be >= 0, got {}", title(config),
            config.norm_eps);
    require(config.attention_scale >= 0 && std::isfinite(config.attention_scale),
            "{}: attention_scale must be finite and >= 0, got {}", title(config),
            config.attention_scale);
    require(config.head_dim > 0 || config.dim % config.heads == 0,
            "{}: {} heads do not divide dim {} (remainder {})", title(config), config.heads,
            config.dim, config.dim % config.heads);
    return config;
}

MultiHeadAttentionConfig attention_config(const LlamaConfig& config, std::int64_t number) {
    const bool is_windowed = config.window_every > 0 && (number + 1) % config.window_every == 0;
    std::optional<double> scale;
    if (config.attention_scale > 0) scale = config.attention_scale;
    return {.dim = config.dim,
            .heads = config.heads,
            .kv_heads = config.kv_heads,
            .head_dim = config.head_dim,
            .causal = true,
            .dropout = config.dropout,
            .bias = config.qkv_bias,
            .output_bias = config.output_bias,
            .scale = scale,
            .window = is_windowed ? config.window : 0,
            .positions = config.positions,
            .rotary = {.base = config.rotary_base,
                       .share = config.rotary_share,
                       .pairs = RotaryPairs::halves},
            .qk_norm = config.qk_norm,
            .norm_eps = config.norm_eps};
}

FeedForwardConfig feed_forward_config(const LlamaConfig& config) {
    return {.dim = config.dim,
            .hidden = hidden_width(config),
            .activation = config.activation,
            .bias = config.feed_forward_bias};
}

}  // namespace

LlamaBlock::LlamaBlock(const LlamaConfig& config, std::int64_t number, Generator& generator)
    : Module("LlamaBlock"),
      attention_norm(config.norm, config.dim, config.norm_eps),
      attention(attention_config(config, number), generator),
      feed_forward_norm(config.norm, config.dim, config.norm_eps),
      feed_forward(feed_forward_config(config), generator),
      residual_dropout(config.dropout, generator),
      parallel_(config.parallel) {
    register_module("attention_norm", attention_norm);
    register_module("attention", attention);
    register_module("feed_forward_norm", feed_forward_norm);
    register_module("feed_forward", feed_forward);
    register_module("residual_dropout", residual_dropout);
}

Tensor LlamaBlock::operator()(const Tensor& x, const TransformerBlockInputs& inputs) const {
    const ModuleScope scope(name());
    const AttentionInputs with{.mask = inputs.mask, .cache = inputs.cache, .record = inputs.record};
    const Tensor h = x + residual_dropout(attention(attention_norm(x), with));  // [B, T, C]
    const Tensor& read = parallel_ ? x : h;
    return hooked(h + residual_dropout(feed_forward(feed_forward_norm(read))), x);
}

LlamaStack::LlamaStack(const LlamaConfig& config, Generator& generator)
    : Module("LlamaStack"), recompute_(config.recompute) {
    for (std::int64_t i = 0; i < config.layers; ++i) {
        layers.emplace_back(*this, fmt::format("{}", i),
                            std::make_unique<LlamaBlock>(config, i, generator));
    }
}

Tensor LlamaStack::operator()(const Tensor& x, const TransformerStackInputs& inputs) const {
    const ModuleScope scope(name());
    return hooked(run_layers("LlamaStack", layers, x, inputs, recompute_), x);
}

Llama::Llama(const LlamaConfig& config, Generator& generator)
    : LanguageModel(title(config)),
      token_embedding(checked(config).vocab, config.dim, generator),
      blocks(config, generator),
      final_norm(config.norm, config.dim, config.norm_eps),
      head(config.dim, config.vocab, false, generator),
      config_(config) {
    register_module("token_embedding", token_embedding);
    if (are_added(config.positions)) {
        position_embedding.emplace(config.positions, config.context, config.dim, generator);
        register_module("position_embedding", *position_embedding);
    }
    register_module("blocks", blocks);
    register_module("final_norm", final_norm);
    register_module("head", head);
    if (config.tied_head) head.weight = token_embedding.weight;
    initialise(generator);
    convert_weights(*this, config_);
}

void Llama::initialise(Generator& generator) {
    const double residual = config_.deviation / std::sqrt(2 * static_cast<double>(config_.layers));
    for (auto& [name, parameter] : named_parameters()) {
        if (name.ends_with(".bias")) parameter.fill_(0);
        if (parameter.rank() != 2) continue;  // the norms' weights stay 1
        const bool writes = name.ends_with("output.weight") || name.ends_with("down.weight");
        const Tensor drawn =
            normal(parameter.shape(), 0, writes ? residual : config_.deviation, generator);
        if (!SkipDrawing::active()) parameter.copy_(drawn);
    }
}

Tensor Llama::features(const Tensor& ids, const TransformerStackInputs& inputs) const {
    check_ids(kind().c_str(), "ids", ids);
    const std::int64_t first = first_position(ids, inputs);
    Tensor x = token_embedding(ids);
    if (position_embedding) x = (*position_embedding)(x, first);
    if (config_.compute != ComputeType::f32) x = tapestry::to(x, dtype_of(config_.compute));
    return final_norm(blocks(x, inputs));  // [B, T, C]
}

Tensor Llama::operator()(const Tensor& ids, const TransformerStackInputs& inputs) const {
    const ModuleScope scope(name());
    return hooked(head(features(ids, inputs)), ids);  // [B, T, V]
}

std::string Llama::settings() const {
    return fmt::format("context {}, {}{}", config_.context, pluralize(config_.layers, "layer"),
                       config_.tied_head ? ", tied head" : "");
}

}  // namespace tapestry
