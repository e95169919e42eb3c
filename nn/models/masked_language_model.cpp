#include <tapestry/nn/models/masked_language_model.h>

#include <tapestry/core/create.h>
#include <tapestry/nn/attention/masks.h>
#include <tapestry/nn/attention/named_forms.h>
#include <tapestry/nn/module/check_ids.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

namespace tapestry {
namespace {

constexpr std::int64_t kNotCounted = -100;  // the default of CrossEntropyOptions::ignore_index

const MaskedLanguageModelConfig& checked(const MaskedLanguageModelConfig& c) {
    check_positive("MaskedLanguageModel", c);
    require(c.dim % c.heads == 0,
            "MaskedLanguageModel: {} heads do not divide dim {} (remainder {})", c.heads, c.dim,
            c.dim % c.heads);
    require(c.types >= 0 && c.classes >= 0,
            "MaskedLanguageModel: types and classes must be >= 0, got {} and {}", c.types,
            c.classes);
    return c;
}

EncoderConfig encoder_config(const MaskedLanguageModelConfig& c, Generator& generator) {
    const AttentionFormUse use{.model = "MaskedLanguageModel",
                               .head_dim = c.dim / c.heads,
                               .length = c.max_length,
                               .dropout = c.dropout,
                               .compute = computed_type(c)};
    return {.layers = c.layers,
            .layer = {.dim = c.dim,
                      .heads = c.heads,
                      .hidden = c.hidden,
                      .dropout = c.dropout,
                      .head_dropout = c.head_dropout,
                      .activation = Activation::gelu_erf,
                      .norm_eps = c.norm_eps,
                      .form = attention_form(c.form, use, generator)}};
}

}  // namespace

MaskedLanguageModel::MaskedLanguageModel(const MaskedLanguageModelConfig& config,
                                         Generator& generator)
    : Module("MaskedLanguageModel"),
      token_embedding(checked(config).vocab, config.dim, generator),
      position_embedding(Positions::learned, config.max_length, config.dim, generator),
      embedding_norm(config.dim, config.norm_eps),
      embedding_dropout(config.dropout, generator),
      encoder(encoder_config(config, generator), generator),
      transform(config.dim, config.dim, true, generator),
      transform_norm(config.dim, config.norm_eps),
      head(config.dim, config.vocab, true, generator),
      config_(config) {
    register_module("token_embedding", token_embedding);
    register_module("position_embedding", position_embedding);
    if (config.types > 0) {
        type_embedding.emplace(config.types, config.dim, generator);
        register_module("type_embedding", *type_embedding);
    }
    register_module("embedding_norm", embedding_norm);
    register_module("embedding_dropout", embedding_dropout);
    register_module("encoder", encoder);
    register_module("transform", transform);
    register_module("transform_norm", transform_norm);
    register_module("head", head);
    head.weight = token_embedding.weight;
    if (config.classes > 0) {
        pooler.emplace(config.dim, config.dim, true, generator);
        classifier.emplace(config.dim, config.classes, true, generator);
        register_module("pooler", *pooler);
        register_module("classifier", *classifier);
    }
    initialise(generator);
    convert_weights(*this, config_);
}

void MaskedLanguageModel::initialise(Generator& generator) {
    for (auto& [name, parameter] : named_parameters()) {
        if (name.ends_with(".bias")) parameter.fill_(0);
        // The norms' weights, of rank 1, stay 1; a form of attention has initialised its own.
        if (parameter.rank() != 2 || name.find(".form.") != name.npos) continue;
        parameter.copy_(normal(parameter.shape(), 0, config_.deviation, generator));
    }
}

Tensor MaskedLanguageModel::encode(const Tensor& ids,
                                   const MaskedLanguageModelInputs& inputs) const {
    const ModuleScope scope(name());
    check_ids("MaskedLanguageModel", "ids", ids);
    const Tensor& types = inputs.types;
    require(type_embedding || !types.defined(),
            "MaskedLanguageModel: types given to a model that has none");
    require<ShapeError>(!types.defined() || types.shape() == ids.shape(),
                        "MaskedLanguageModel: types {} for ids {}", types.shape(), ids.shape());
    Tensor x = position_embedding(token_embedding(ids));  // [B, T, C]
    if (type_embedding) {
        x = x + (*type_embedding)(types.defined() ? types : zeros(ids.shape(), DType::i64));
    }
    if (config_.compute != ComputeType::f32) x = tapestry::to(x, dtype_of(config_.compute));
    x = embedding_dropout(embedding_norm(x));
    const bool padded = config_.padding_id >= 0;
    return encoder(x, {.mask = padded ? padding_mask(ids, config_.padding_id) : Tensor(),
                       .records = inputs.records});  // [B, T, C]
}

Tensor MaskedLanguageModel::operator()(const Tensor& ids,
                                       const MaskedLanguageModelInputs& inputs) const {
    const Tensor h = encode(ids, inputs);  // [B, T, C]
    const ModuleScope scope(name());
    return hooked(head(transform_norm(gelu(transform(h), Gelu::erf))), ids);  // [B, T, V]
}

Tensor MaskedLanguageModel::classify(const Tensor& ids,
                                     const MaskedLanguageModelInputs& inputs) const {
    require(classifier.has_value(), "MaskedLanguageModel: classify: the model has no classes");
    const Tensor h = encode(ids, inputs);  // [B, T, C]
    const ModuleScope scope(name());
    const Tensor first = squeeze(slice(h, 1, 0, 1), 1);  // [B, C]
    return (*classifier)(tanh((*pooler)(first)));        // [B, classes]
}

Tensor MaskedLanguageModel::loss(const Tensor& ids, const Tensor& targets,
                                 const MaskedLanguageModelInputs& inputs) const {
    require<DTypeError>(targets.defined() && targets.dtype() == DType::i64,
                        "MaskedLanguageModel: needs targets of type i64");
    require(sum(ne(targets, kNotCounted)).item() > 0,
            "MaskedLanguageModel: all targets are {}: there is nothing to predict", kNotCounted);
    return cross_entropy((*this)(ids, inputs), targets, {.ignore_index = kNotCounted});
}

std::string MaskedLanguageModel::settings() const {
    return fmt::format("at most {} tokens, {} layers{}", config_.max_length, config_.layers,
                       config_.classes > 0 ? fmt::format(", {} classes", config_.classes) : "");
}

}  // namespace tapestry
