#include <tapestry/nn/models/transformer.h>

#include <tapestry/nn/attention/masks.h>
#include <tapestry/nn/module/check_ids.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/loss.h>

#include <cmath>

namespace tapestry {

namespace {

const TransformerConfig& checked(const TransformerConfig& c) {
    check_positive("Transformer", c);
    require(c.positions != Positions::learned || c.max_length > 0,
            "Transformer: max_length of learned positions must be positive, got {}", c.max_length);
    require(!c.share_embeddings || c.source_vocab == c.target_vocab,
            "Transformer: shared embeddings need one vocabulary, got {} and {}", c.source_vocab,
            c.target_vocab);
    require(c.label_smoothing >= 0 && c.label_smoothing <= 1,
            "Transformer: label smoothing must be in [0, 1], got {}", c.label_smoothing);
    return c;
}

TransformerLayerConfig layer_config(const TransformerConfig& c) {
    return {.dim = c.dim,
            .heads = c.heads,
            .kv_heads = c.kv_heads,
            .hidden = c.hidden,
            .dropout = c.dropout,
            .activation = c.activation,
            .norm_first = c.norm_first,
            .positions = c.positions,
            .rotary = {.base = c.rotary_base, .share = c.rotary_share, .pairs = c.rotary_pairs},
            .qk_norm = c.qk_norm,
            .bias = c.bias};
}

}  // namespace

Transformer::Transformer(const TransformerConfig& config, Generator& generator)
    : Module("Transformer"),
      source_embedding(checked(config).source_vocab, config.dim, generator),
      target_embedding(config.target_vocab, config.dim, generator),
      embedding_dropout(config.dropout, generator),
      encoder(
          {.layers = config.layers, .layer = layer_config(config), .final_norm = config.norm_first},
          generator),
      decoder(
          {.layers = config.layers, .layer = layer_config(config), .final_norm = config.norm_first},
          generator),
      head(config.dim, config.target_vocab, false, generator),
      config_(config) {
    register_module("source_embedding", source_embedding);
    register_module("target_embedding", target_embedding);
    if (are_added(config.positions)) {
        source_positions.emplace(config.positions, config.max_length, config.dim, generator);
        target_positions.emplace(config.positions, config.max_length, config.dim, generator);
        register_module("source_positions", *source_positions);
        register_module("target_positions", *target_positions);
    }
    register_module("embedding_dropout", embedding_dropout);
    register_module("encoder", encoder);
    register_module("decoder", decoder);
    register_module("head", head);
    if (config.share_embeddings) target_embedding.weight = source_embedding.weight;
    if (config.tied_head) head.weight = target_embedding.weight;
    initialise(generator);
    convert_weights(*this, config_);
}

void Transformer::initialise(Generator& generator) {
    for (auto& [name, parameter] : named_parameters()) {
        if (name.ends_with(".bias")) parameter.fill_(0);
        if (parameter.rank() != 2) continue;  // the norms' weights, of rank 1, stay 1
        const bool table = name.find("embedding") != std::string::npos ||
                           name.find("positions") != std::string::npos;
        const auto out = static_cast<double>(parameter.size(0));
        const auto in = static_cast<double>(parameter.size(1));
        const double bound = std::sqrt(6 / (in + out));  // Glorot and Bengio 2010
        parameter.copy_(table ? normal(parameter.shape(), 0, 1 / std::sqrt(in), generator)
                              : uniform(parameter.shape(), -bound, bound, generator));
    }
}

Tensor Transformer::embed(const Embedding& table,
                          const std::optional<PositionalEncoding>& positions, const Tensor& ids,
                          std::int64_t first) const {
    Tensor x = table(ids) * std::sqrt(static_cast<double>(config_.dim));  // [B, T, C]
    if (positions) x = (*positions)(x, first);
    if (config_.compute != ComputeType::f32) x = tapestry::to(x, dtype_of(config_.compute));
    return embedding_dropout(x);
}

// Masks the source's padding: [B, 1, 1, S]; undefined if there is none.
Tensor Transformer::memory_mask(const Tensor& source) const {
    return config_.padding_id < 0 ? Tensor() : padding_mask(source, config_.padding_id);
}

Tensor Transformer::encode(const Tensor& source, std::vector<AttentionRecord>* records) const {
    const ModuleScope scope(name());
    check_ids("Transformer", "source ids", source);
    const Tensor x = embed(source_embedding, source_positions, source, 0);  // [B, S, C]
    return encoder(x, {.mask = memory_mask(source), .records = records});   // [B, S, C]
}

Tensor Transformer::decode(const Tensor& target, const Tensor& memory, const Tensor& source,
                           const TransformerDecodeInputs& inputs) const {
    const ModuleScope scope(name());
    check_ids("Transformer", "target ids", target);
    const bool continued = inputs.caches != nullptr && !inputs.caches->empty();
    const std::int64_t first = continued ? inputs.caches->front().self.length() : 0;
    Tensor x = embed(target_embedding, target_positions, target, first);  // [B, T, C]
    x = decoder(
        x, memory,
        {.memory_mask = memory_mask(source), .caches = inputs.caches, .records = inputs.records});
    return head(x);  // [B, T, V]
}

Tensor Transformer::operator()(const Tensor& source, const Tensor& target) const {
    return hooked(decode(target, encode(source), source), source, target);
}

Tensor Transformer::loss(const Tensor& source, const Tensor& target, const Tensor& next) const {
    return cross_entropy((*this)(source, target), next,
                         {.ignore_index = config_.padding_id < 0 ? -100 : config_.padding_id,
                          .label_smoothing = config_.label_smoothing});
}

std::string Transformer::settings() const {
    return fmt::format("{} + {} layers{}", config_.layers, config_.layers,
                       config_.share_embeddings ? ", shared embeddings" : "");
}

}  // namespace tapestry
