#include <tapestry/nn/attention/multi_head_attention.h>

#include <tapestry/core/create.h>
#include <tapestry/nn/positions.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>

namespace tapestry {
namespace {

void check_probability(const char* what, double p) {
    require(p >= 0 && p <= 1, "MultiHeadAttention: {} {} is no probability", what, p);
}

// With the defaults filled in.
MultiHeadAttentionConfig checked(MultiHeadAttentionConfig c) {
    if (c.key_dim == 0) c.key_dim = c.dim;
    if (c.value_dim == 0) c.value_dim = c.dim;
    require(c.dim > 0 && c.heads > 0, "MultiHeadAttention: dim {} and heads {} must be positive",
            c.dim, c.heads);
    require(c.key_dim > 0 && c.value_dim > 0,
            "MultiHeadAttention: key_dim {} and value_dim {} must be positive", c.key_dim,
            c.value_dim);
    require(c.dim % c.heads == 0,
            "MultiHeadAttention: {} heads do not divide dim {} (remainder {})", c.heads, c.dim,
            c.dim % c.heads);
    require(
        !c.rotary || c.dim / c.heads % 2 == 0,
        "MultiHeadAttention: rotary positions turn pairs of numbers, but dim {} / {} heads = {} "
        "is odd",
        c.dim, c.heads, c.dim / c.heads);
    check_probability("dropout", c.dropout);
    check_probability("head dropout", c.head_dropout);
    return c;
}

void check_sequences(const char* what, const Tensor& x, std::int64_t dim, std::int64_t batch) {
    require<ShapeError>(x.defined() && x.rank() == 3 && x.size(2) == dim,
                        "MultiHeadAttention: needs {} [B, T, {}], got {}", what, dim, x.shape());
    require<ShapeError>(x.size(0) == batch,
                        "MultiHeadAttention: {} {} are a batch of {}, the queries one of {}", what,
                        x.shape(), x.size(0), batch);
}

Tensor rows(const Tensor& x, std::int64_t first, std::int64_t last) {
    return x.defined() ? slice(x, 0, first, last) : Tensor();
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionConfig& config, Generator& generator)
    : Module("MultiHeadAttention"),
      output(checked(config).dim, config.dim, config.bias, generator),
      config_(checked(config)),
      form_(config.form ? config.form() : std::make_unique<SoftmaxAttention>()),
      head_dropout_(config.head_dropout, generator),
      generator_(generator) {
    const std::int64_t dim = config.dim;
    if (config_.key_dim == dim && config_.value_dim == dim) {
        register_module("qkv", qkv.emplace(dim, 3 * dim, config.bias, generator));
    } else {
        register_module("query", query.emplace(dim, dim, config.bias, generator));
        register_module("key", key.emplace(config_.key_dim, dim, config.bias, generator));
        register_module("value", value.emplace(config_.value_dim, dim, config.bias, generator));
    }
    if (config.form) register_module("form", *form_);
    register_module("head_dropout", head_dropout_);
    register_module("output", output);
}

// [B, T, C] -> [B, H, T, D]
Tensor MultiHeadAttention::split_heads(const Tensor& x) const {
    const std::int64_t width = config_.dim / config_.heads;
    return transpose(reshape(x, {x.size(0), x.size(1), config_.heads, width}), 1, 2);
}

// x W^T + b with some rows of the packed matrix.
Tensor MultiHeadAttention::project_part(const Tensor& x, std::int64_t first,
                                        std::int64_t last) const {
    const ModuleScope scope(qkv->name());
    return linear(x, rows(qkv->weight, first, last), rows(qkv->bias, first, last));
}

// Q, K, V [B, T, C]: those made from the same vectors come out of one product.
Tensors MultiHeadAttention::project_packed(const Tensor& x, const AttentionInputs& inputs) const {
    const std::int64_t dim = config_.dim;
    if (!inputs.keys.defined()) return split((*qkv)(x), dim, -1);
    const Tensor q = project_part(x, 0, dim);
    if (inputs.values.defined()) {
        return {q, project_part(inputs.keys, dim, 2 * dim),
                project_part(inputs.values, 2 * dim, 3 * dim)};
    }
    const Tensors both = split(project_part(inputs.keys, dim, 3 * dim), dim, -1);
    return {q, both[0], both[1]};
}

MultiHeadAttention::Projected MultiHeadAttention::project(const Tensor& x,
                                                          const AttentionInputs& inputs) const {
    Tensors parts;  // [B, T, C], [B, S, C], [B, S, C]
    if (qkv) {
        parts = project_packed(x, inputs);
    } else {
        const Tensor& keys = inputs.keys.defined() ? inputs.keys : x;
        const Tensor& values = inputs.values.defined() ? inputs.values : keys;
        parts = {(*query)(x), (*key)(keys), (*value)(values)};
    }
    Projected all{split_heads(parts[0]), split_heads(parts[1]), split_heads(parts[2])};
    if (config_.rotary) {
        const std::int64_t first = inputs.cache != nullptr ? inputs.cache->length() : 0;
        all.q = rotary(all.q, first);
        all.k = rotary(all.k, first);
    }
    return all;
}

// The same, joined with what the cache holds and kept in it.
MultiHeadAttention::Projected MultiHeadAttention::project_cached(
    const Tensor& x, const AttentionInputs& inputs) const {
    KeyValueCache& cache = *inputs.cache;
    if (inputs.keys.defined() && !cache.empty()) {
        const Tensor q = query ? (*query)(x) : project_part(x, 0, config_.dim);
        return {split_heads(q), cache.keys(), cache.values()};
    }
    const Projected now = project(x, inputs);
    cache.append(now.k, now.v);
    return {now.q, cache.keys(), cache.values()};
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const AttentionInputs& inputs) const {
    const ModuleScope scope(name());
    require<ShapeError>(x.defined() && x.rank() == 3 && x.size(2) == config_.dim,
                        "MultiHeadAttention: needs [B, T, {}], got {}", config_.dim, x.shape());
    const bool elsewhere = inputs.keys.defined();
    require(elsewhere || !inputs.values.defined(),
            "MultiHeadAttention: values without the keys they belong to");
    require(!elsewhere || !config_.rotary,
            "MultiHeadAttention: rotary positions are for self-attention, these keys are others");
    if (elsewhere) check_sequences("keys", inputs.keys, config_.key_dim, x.size(0));
    if (inputs.values.defined()) {
        check_sequences("values", inputs.values, config_.value_dim, x.size(0));
    }

    const Projected p = inputs.cache != nullptr ? project_cached(x, inputs) : project(x, inputs);
    Tensor heads = (*form_)(  // [B, H, T, D]
        p.q, p.k, p.v,
        {.causal = config_.causal,
         .mask = inputs.mask,
         .dropout = is_training() ? config_.dropout : 0,
         .generator = &generator_,
         .weights = inputs.record != nullptr ? &inputs.record->weights : nullptr});
    if (is_training() && config_.head_dropout > 0) {
        heads = heads * head_dropout_(ones({x.size(0), config_.heads, 1, 1}, x.dtype()));
    }
    if (inputs.record != nullptr) inputs.record->heads = heads.detach();
    return output(reshape(transpose(heads, 1, 2), x.shape()));  // [B, T, C]
}

std::string MultiHeadAttention::settings() const {
    return fmt::format("{} heads{}", config_.heads, config_.causal ? ", causal" : "");
}

}  // namespace tapestry
