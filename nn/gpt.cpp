#include <tapestry/core/create.h>
#include <tapestry/nn/gpt.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/loss.h>

#include <cmath>

namespace tapestry {
namespace {

const GPTConfig& checked(const GPTConfig& config) {
    const auto positive = [](const char* what, std::int64_t value) {
        require(value > 0, "GPT: {} is {}; it must be positive", what, value);
    };
    positive("vocab", config.vocab);
    positive("context", config.context);
    positive("layers", config.layers);
    positive("heads", config.heads);
    positive("dim", config.dim);
    require(config.dim % config.heads == 0, "GPT: {} heads do not divide dim {} (remainder {})",
            config.heads, config.dim, config.dim % config.heads);
    return config;
}

}  // namespace

double training_bytes(const GPTConfig& config, std::int64_t batch) {
    const auto vocab = static_cast<double>(config.vocab);
    const auto dim = static_cast<double>(config.dim);
    const auto layers = static_cast<double>(config.layers);
    const auto heads = static_cast<double>(config.heads);
    const auto context = static_cast<double>(config.context);
    const double tokens = static_cast<double>(batch) * context;
    const double parameters =
        vocab * dim * (config.tied_head ? 1 : 2) + context * dim + layers * 12 * dim * dim;
    // Per layer and token the tape keeps: two norms' inputs, q k v, the heads, the wide layer
    // before and after its activation, the residual stream; and the attention weights.
    const double kept = layers * (tokens * 16 * dim + tokens * heads * context);
    const double logits = 3 * tokens * vocab;
    return 4 * (4 * parameters + kept + logits);
}

GPT::GPT(const GPTConfig& config, Generator& generator)
    : Module("GPT"),
      token_embedding(checked(config).vocab, config.dim, generator),
      position_embedding(config.context, config.dim, generator),
      embedding_dropout(config.dropout, generator),
      final_norm(config.dim, 1e-5, config.bias),
      head(config.dim, config.vocab, false, generator),
      config_(config) {
    register_module("token_embedding", token_embedding);
    register_module("position_embedding", position_embedding);
    register_module("embedding_dropout", embedding_dropout);
    for (std::int64_t i = 0; i < config.layers; ++i) {
        blocks.push_back(
            std::make_unique<TransformerBlock>(TransformerBlockConfig{.dim = config.dim,
                                                                      .heads = config.heads,
                                                                      .dropout = config.dropout,
                                                                      .causal = true,
                                                                      .bias = config.bias},
                                               generator));
        register_module(fmt::format("blocks.{}", i), *blocks.back());
    }
    register_module("final_norm", final_norm);
    register_module("head", head);
    if (config.tied_head) head.weight = token_embedding.weight;
    initialise(generator);
}

void GPT::initialise(Generator& generator) {
    const double residual = 0.02 / std::sqrt(2 * static_cast<double>(config_.layers));
    const auto ends_with = [](const std::string& name, std::string_view end) {
        return name.ends_with(end);
    };
    for (auto& [name, parameter] : named_parameters()) {
        if (ends_with(name, ".bias")) {
            parameter.fill_(0);
        } else if (parameter.rank() == 2) {  // the norms' weights, of rank 1, stay 1
            const bool writes = ends_with(name, "output.weight") || ends_with(name, "down.weight");
            parameter.copy_(normal(parameter.shape(), 0, writes ? residual : 0.02, generator));
        }
    }
}

Tensor GPT::operator()(const Tensor& ids) const {
    const ModuleScope scope(name());
    require<ShapeError>(ids.defined() && ids.rank() == 2, "GPT: needs ids [B, T], got {}",
                        ids.shape());
    require<ShapeError>(ids.size(1) <= config_.context,
                        "GPT: {} tokens are more than the context of {}", ids.size(1),
                        config_.context);
    const Tensor positions = arange(ids.size(1));                     // [T]
    Tensor x = token_embedding(ids) + position_embedding(positions);  // [B, T, C]
    x = embedding_dropout(x);
    for (const auto& block : blocks) x = (*block)(x);
    return head(final_norm(x));  // [B, T, V]
}

Tensor GPT::loss(const Tensor& ids, const Tensor& targets) const {
    return cross_entropy((*this)(ids), targets);
}

std::string GPT::settings() const {
    return fmt::format("context {}, {} layers{}", config_.context, config_.layers,
                       config_.tied_head ? ", tied head" : "");
}

}  // namespace tapestry
