#include <tapestry/nn/models/gpt.h>

#include <tapestry/core/skip_drawing.h>
#include <tapestry/core/text/message.h>
#include <tapestry/nn/attention/named_forms.h>
#include <tapestry/nn/module/check_ids.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/elementwise.h>

#include <cmath>

namespace tapestry {
namespace {

const GPTConfig& checked(const GPTConfig& config) {
    check_positive("GPT", config);
    require(config.deviation >= 0 && std::isfinite(config.deviation),
            "GPT: deviation must be finite and >= 0, got {}", config.deviation);
    require(config.norm_eps >= 0, "GPT: the norms' epsilon must be >= 0, got {}", config.norm_eps);
    require(config.softcap >= 0 && std::isfinite(config.softcap),
            "GPT: softcap must be finite and >= 0, got {}", config.softcap);
    require(config.embedding_scale >= 0 && std::isfinite(config.embedding_scale),
            "GPT: embedding_scale must be finite and >= 0, got {}", config.embedding_scale);
    require(config.position_form == "none" || config.positions == Positions::none,
            "GPT: position_form {} needs positions none, got {}",
            utf8::quoted(config.position_form), name_of_value(config.positions));
    require(config.dim % config.heads == 0, "GPT: {} heads do not divide dim {} (remainder {})",
            config.heads, config.dim, config.dim % config.heads);
    return config;
}

TransformerLayerConfig layer_config(const GPTConfig& config, Generator& generator) {
    const AttentionFormUse use{.model = "GPT",
                               .head_dim = config.dim / config.heads,
                               .length = config.context,
                               .causal = true,
                               .dropout = attention_dropout(config),
                               .positions = config.positions,
                               .compute = computed_type(config)};
    return {.dim = config.dim,
            .heads = config.heads,
            .kv_heads = config.kv_heads,
            .hidden = config.hidden,
            .dropout = config.dropout,
            .attention_dropout = attention_dropout(config),
            .head_dropout = config.head_dropout,
            .activation = config.activation,
            .norm_first = true,
            .causal = true,
            .positions = config.positions,
            .rotary = {.base = config.rotary_base,
                       .share = config.rotary_share,
                       .pairs = config.rotary_pairs},
            .qk_norm = config.qk_norm,
            .bias = config.bias,
            .norm_eps = config.norm_eps,
            .form = attention_form(config.form, use, generator)};
}

}  // namespace

GPT::GPT(const GPTConfig& config, Generator& generator)
    : LanguageModel("GPT"),
      token_embedding(checked(config).vocab, config.dim, generator),
      embedding_dropout(tapestry::embedding_dropout(config), generator),
      blocks({.layers = config.layers,
              .layer = layer_config(config, generator),
              .recompute = config.recompute},
             generator),
      final_norm(config.dim, config.norm_eps, config.bias),
      head(config.dim, config.vocab, false, generator),
      config_(config) {
    register_module("token_embedding", token_embedding);
    if (are_added(config.positions)) {
        position_embedding.emplace(config.positions, config.context, config.dim, generator);
        register_module("position_embedding", *position_embedding);
    }
    if (const PositionFormFactory make = tapestry::position_form(config.position_form)) {
        position_form.emplace(*this, "position_form", make(config.context, config.dim, generator));
    }
    if (config.earlier > 0 || config.pairs > 0) {
        token_history.emplace(TokenHistoryConfig{.vocab = config.vocab,
                                                 .dim = config.dim,
                                                 .earlier = config.earlier,
                                                 .pairs = config.pairs},
                              generator);
        register_module("token_history", *token_history);
    }
    register_module("embedding_dropout", embedding_dropout);
    register_module("blocks", blocks);
    register_module("final_norm", final_norm);
    register_module("head", head);
    if (config.tied_head) head.weight = token_embedding.weight;
    initialise(generator);
    convert_weights(*this, config_);
}

void GPT::initialise(Generator& generator) {
    const double residual =
        config_.zero_outputs
            ? 0
            : config_.deviation / std::sqrt(2 * static_cast<double>(config_.layers));
    for (auto& [name, parameter] : named_parameters()) {
        if (name.ends_with(".bias") || name.ends_with("pairs.weight")) {
            parameter.fill_(0);
        } else if (parameter.rank() == 2) {  // the norms' weights, of rank 1, stay 1
            const bool writes = name.ends_with("output.weight") || name.ends_with("down.weight");
            const Tensor drawn =
                normal(parameter.shape(), 0, writes ? residual : config_.deviation, generator);
            if (!SkipDrawing::active()) parameter.copy_(drawn);
        }
    }
}

Tensor GPT::features(const Tensor& ids, const TransformerStackInputs& inputs) const {
    check_ids("GPT", "ids", ids);
    const std::int64_t first = first_position(ids, inputs);
    Tensor x = embedded(ids, inputs);
    if (const double scale = embedding_scale(config_); scale != 1) x = x * scale;
    if (position_embedding) x = (*position_embedding)(x, first);
    if (position_form) x = (**position_form)(x, first);
    if (config_.compute != ComputeType::f32) x = tapestry::to(x, dtype_of(config_.compute));
    return final_norm(blocks(embedding_dropout(x), inputs));  // [B, T, C]
}

Tensor GPT::operator()(const Tensor& ids, const TransformerStackInputs& inputs) const {
    const ModuleScope scope(name());
    Tensor logits = head(features(ids, inputs));  // [B, T, V]
    if (config_.softcap > 0) logits = config_.softcap * tanh(logits * (1 / config_.softcap));
    return hooked(logits, ids);
}

// [B, T, C]. The first layer's cache keeps the ids that a later call needs.
Tensor GPT::embedded(const Tensor& ids, const TransformerStackInputs& inputs) const {
    const Tensor x = token_embedding(ids);
    if (!token_history) return x;
    if (inputs.caches == nullptr) return x + (*token_history)(ids);
    if (inputs.caches->empty()) inputs.caches->resize(blocks.layers.size());
    KeyValueCache& cache = inputs.caches->front();
    const Tensor before = cache.latest();
    cache.set_latest(token_history->latest(ids, before));
    return x + (*token_history)(ids, before);
}

std::string GPT::settings() const {
    return fmt::format("context {}, {}{}", config_.context, pluralize(config_.layers, "layer"),
                       config_.tied_head ? ", tied head" : "");
}

}  // namespace tapestry
