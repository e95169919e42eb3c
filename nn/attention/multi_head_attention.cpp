#include <tapestry/nn/attention/multi_head_attention.h>

#include <tapestry/core/create.h>
#include <tapestry/core/text/message.h>
#include <tapestry/nn/attention/masks.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/norm.h>
#include <tapestry/ops/view.h>

namespace tapestry {

HeadNorm::HeadNorm(QKNorm kind, std::int64_t width, double eps, bool with_bias)
    : Module("HeadNorm"), kind_(kind), eps_(eps) {
    require(kind != QKNorm::none, "HeadNorm: the norm must not be none");
    require(width > 0, "HeadNorm: size must be positive, got {}", width);
    weight = ones({width});
    register_parameter("weight", weight);
    if (kind == QKNorm::rms || !with_bias) return;
    bias = zeros({width});
    register_parameter("bias", bias);
}

Tensor HeadNorm::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    const bool rms = kind_ == QKNorm::rms;
    const Tensor w = cast_like(x, weight);
    return hooked(rms ? rms_norm(x, w, eps_) : layer_norm(x, w, cast_like(x, bias), eps_), x);
}

std::string HeadNorm::settings() const {
    return fmt::format("{}, {}", name_of_value(kind_), weight.size(0));
}

namespace {

void check_probability(const char* what, double p) {
    require(p >= 0 && p <= 1, "MultiHeadAttention: {} must be in [0, 1], got {}", what, p);
}

// Fills in the defaults.
MultiHeadAttentionConfig checked(MultiHeadAttentionConfig c) {
    if (c.key_dim == 0) c.key_dim = c.dim;
    if (c.value_dim == 0) c.value_dim = c.dim;
    if (c.kv_heads == 0) c.kv_heads = c.heads;
    require(c.dim > 0 && c.heads > 0, "MultiHeadAttention: dim {} and heads {} must be positive",
            c.dim, c.heads);
    require(c.key_dim > 0 && c.value_dim > 0,
            "MultiHeadAttention: key_dim {} and value_dim {} must be positive", c.key_dim,
            c.value_dim);
    require(c.head_dim >= 0, "MultiHeadAttention: head_dim must be >= 0, got {}", c.head_dim);
    require(c.head_dim > 0 || c.dim % c.heads == 0,
            "MultiHeadAttention: {} heads do not divide dim {} (remainder {})", c.heads, c.dim,
            c.dim % c.heads);
    if (c.head_dim == 0) c.head_dim = c.dim / c.heads;
    require(c.window >= 0, "MultiHeadAttention: window must be >= 0, got {}", c.window);
    require(c.window == 0 || c.causal, "MultiHeadAttention: a window needs causal attention");
    require(c.kv_heads > 0 && c.heads % c.kv_heads == 0,
            "MultiHeadAttention: {} heads of keys and values do not divide {} heads", c.kv_heads,
            c.heads);
    check_probability("dropout", c.dropout);
    check_probability("head dropout", c.head_dropout);
    return c;
}

void check_sequences(const char* what, const Tensor& x, std::int64_t dim, std::int64_t batch) {
    require<ShapeError>(x.defined() && x.rank() == 3 && x.size(2) == dim,
                        "MultiHeadAttention: needs {} [B, T, {}], got {}", what, dim, x.shape());
    require<ShapeError>(x.size(0) == batch,
                        "MultiHeadAttention: {} {} have batch size {}, the queries {}", what,
                        x.shape(), x.size(0), batch);
}

Tensor rows(const Tensor& x, std::int64_t first, std::int64_t last) {
    return x.defined() ? slice(x, 0, first, last) : Tensor();
}

// The mask, false or -inf also for keys `window` and more positions before a query.
Tensor masked_beyond(const Tensor& mask, std::int64_t window, std::int64_t queries,
                     std::int64_t keys) {
    const Tensor near = window_mask(queries, keys, window);
    if (!mask.defined()) return near;
    return mask.dtype() == DType::boolean ? logical_and(mask, near) : added_mask(near, mask);
}

// [B, G, S, D] -> [B, H, S, D], for forms that need separate keys for each head.
Tensor for_each_head(const Tensor& x, std::int64_t heads) {
    const std::int64_t batch = x.size(0), shared = x.size(1), keys = x.size(2), width = x.size(3);
    const Tensor alone = reshape(x, {batch, shared, 1, keys, width});
    const Tensor copies = expand(alone, {batch, shared, heads / shared, keys, width});
    return reshape(copies, {batch, heads, keys, width});
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionConfig& config, Generator& generator)
    : Module("MultiHeadAttention"),
      output(checked(config).head_dim * config.heads, config.dim,
             config.output_bias.value_or(config.bias), generator),
      config_(checked(config)),
      form_(config.form ? config.form() : std::make_unique<SoftmaxAttention>()),
      head_dropout_(config.head_dropout, generator),
      generator_(generator) {
    const std::int64_t dim = config.dim, width = config_.head_dim;
    const std::int64_t own = config.heads * width, shared = config_.kv_heads * width;  // H D, G D
    const bool tied = form_->shares_keys();
    require(
        !tied || (shared == own && config_.key_dim == dim && config_.value_dim == dim),
        "MultiHeadAttention: the queries of {} are its keys, so kv_heads, key_dim and value_dim "
        "must be {}, {} and {}, got {}, {} and {}",
        form_->kind(), config.heads, dim, dim, config_.kv_heads, config_.key_dim,
        config_.value_dim);
    if (config.positions == Positions::rotary) rotary_.emplace(width, config.rotary);
    if (config.positions == Positions::alibi) alibi_.emplace(config.heads);
    if (config_.key_dim == dim && config_.value_dim == dim) {
        const std::int64_t rows_of_all = (tied ? 0 : own) + 2 * shared;
        register_module("qkv", qkv.emplace(dim, rows_of_all, config.bias, generator));
    } else {
        register_module("query", query.emplace(dim, own, config.bias, generator));
        register_module("key", key.emplace(config_.key_dim, shared, config.bias, generator));
        register_module("value", value.emplace(config_.value_dim, shared, config.bias, generator));
    }
    if (config.qk_norm != QKNorm::none) {
        key_norm.emplace(config.qk_norm, width, config.norm_eps, config.bias);
        if (!tied) {
            query_norm.emplace(config.qk_norm, width, config.norm_eps, config.bias);
            register_module("query_norm", *query_norm);
        }
        register_module("key_norm", *key_norm);
    }
    if (config.positions == Positions::relative) {
        relative_bias.emplace(RelativeBiasConfig{.heads = config.heads, .causal = config.causal});
        register_module("relative_bias", *relative_bias);
    }
    if (config.form) register_module("form", *form_);
    register_module("head_dropout", head_dropout_);
    register_module("output", output);
}

// [B, T, H D] -> [B, H, T, D], or G for H; normalised if there is a norm.
Tensor MultiHeadAttention::split_heads(const Tensor& x, const std::optional<HeadNorm>& norm) const {
    const std::int64_t width = config_.head_dim;
    const Tensor heads = reshape(x, {x.size(0), x.size(1), x.size(2) / width, width});
    return transpose(norm ? (*norm)(heads) : heads, 1, 2);
}

// x W^T + b with some rows of the packed matrix.
Tensor MultiHeadAttention::project_part(const Tensor& x, std::int64_t first,
                                        std::int64_t last) const {
    const ModuleScope scope(qkv->name());
    return linear(x, cast_like(x, rows(qkv->weight, first, last)),
                  cast_like(x, rows(qkv->bias, first, last)));
}

// Q [B, T, H D], K and V [B, S, G D]; one product for all that are computed from the same vectors.
Tensors MultiHeadAttention::project_packed(const Tensor& x, const AttentionInputs& inputs) const {
    const std::int64_t own = config_.head_dim * config_.heads;
    const std::int64_t shared = config_.head_dim * config_.kv_heads;
    if (form_->shares_keys()) {
        const Tensors both = split((*qkv)(x), shared, -1);
        return {both[0], both[0], both[1]};
    }
    if (!inputs.keys.defined()) return split((*qkv)(x), {own, shared, shared}, -1);
    const Tensor q = project_part(x, 0, own);
    if (inputs.values.defined()) {
        return {q, project_part(inputs.keys, own, own + shared),
                project_part(inputs.values, own + shared, own + 2 * shared)};
    }
    const Tensors both = split(project_part(inputs.keys, own, own + 2 * shared), shared, -1);
    return {q, both[0], both[1]};
}

MultiHeadAttention::Projected MultiHeadAttention::project(const Tensor& x,
                                                          const AttentionInputs& inputs) const {
    Tensors parts;  // [B, T, H D], [B, S, G D], [B, S, G D]
    if (qkv) {
        parts = project_packed(x, inputs);
    } else {
        const Tensor& keys = inputs.keys.defined() ? inputs.keys : x;
        const Tensor& values = inputs.values.defined() ? inputs.values : keys;
        parts = {(*query)(x), (*key)(keys), (*value)(values)};
    }
    Projected all{split_heads(parts[0], query_norm), split_heads(parts[1], key_norm),
                  split_heads(parts[2])};
    const bool tied = form_->shares_keys();
    if (rotary_) {
        const std::int64_t first = inputs.cache != nullptr ? inputs.cache->length() : 0;
        if (!tied) all.q = (*rotary_)(all.q, first);
        all.k = (*rotary_)(all.k, first);
        // Q and K are new: a copy of V keeps less memory than a view of all three.
        if (qkv) all.v = contiguous(all.v);
    }
    if (tied) all.q = all.k;
    return all;
}

// The same, appended to the cache's contents.
MultiHeadAttention::Projected MultiHeadAttention::project_cached(
    const Tensor& x, const AttentionInputs& inputs) const {
    KeyValueCache& cache = *inputs.cache;
    if (inputs.keys.defined() && !cache.empty()) {
        const Tensor q = query ? (*query)(x) : project_part(x, 0, config_.head_dim * config_.heads);
        return {split_heads(q, query_norm), cache.keys(), cache.values()};
    }
    const Projected now = project(x, inputs);
    cache.append(now.k, now.v);
    return {now.q, cache.keys(), cache.values()};
}

// The mask plus the position bias: [H, T, S], or [B, H, T, S].
Tensor MultiHeadAttention::mask_with_positions(const Tensor& given, std::int64_t queries,
                                               std::int64_t keys, DType dtype) const {
    const bool is_cut = config_.window > 0 && keys > config_.window;
    const Tensor mask = is_cut ? masked_beyond(given, config_.window, queries, keys) : given;
    if (alibi_) return added_mask(mask, (*alibi_)(queries, keys, dtype));
    if (relative_bias)
        return added_mask(mask, tapestry::to((*relative_bias)(queries, keys), dtype));
    return mask;
}

// [B, H, T, D]
Tensor MultiHeadAttention::attend(const Projected& p, const AttentionInputs& inputs) const {
    const bool shared = config_.kv_heads < config_.heads, own = shared && config_.form;
    const bool learns = output.weight.defined() && output.weight.requires_grad();
    return (*form_)(
        p.q, own ? for_each_head(p.k, config_.heads) : p.k,
        own ? for_each_head(p.v, config_.heads) : p.v,
        {.causal = config_.causal,
         .mask = mask_with_positions(inputs.mask, p.q.size(2), p.k.size(2), p.q.dtype()),
         .scale = config_.scale,
         .dropout = is_training() ? config_.dropout : 0,
         .generator = &generator_,
         .grouped = shared && !own,
         .recompute = !output.updates().empty() && !learns,
         .weights = inputs.record != nullptr ? &inputs.record->weights : nullptr});
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const AttentionInputs& inputs) const {
    const ModuleScope scope(name());
    require<ShapeError>(x.defined() && x.rank() == 3 && x.size(2) == config_.dim,
                        "MultiHeadAttention: needs [B, T, {}], got {}", config_.dim, x.shape());
    const bool elsewhere = inputs.keys.defined();
    require(elsewhere || !inputs.values.defined(),
            "MultiHeadAttention: values were given without keys");
    const bool added = are_added(config_.positions) || config_.positions == Positions::none;
    require(!elsewhere || added,
            "MultiHeadAttention: {} positions need self-attention, but separate keys were given",
            name_of_value(config_.positions));
    require(!elsewhere || !form_->shares_keys(),
            "MultiHeadAttention: the queries of {} are its keys, but separate keys were given",
            form_->kind());
    if (elsewhere) check_sequences("keys", inputs.keys, config_.key_dim, x.size(0));
    if (inputs.values.defined()) {
        check_sequences("values", inputs.values, config_.value_dim, x.size(0));
    }

    const Projected p = inputs.cache != nullptr ? project_cached(x, inputs) : project(x, inputs);
    Tensor heads = attend(p, inputs);  // [B, H, T, D]
    if (is_training() && config_.head_dropout > 0) {
        heads = heads * head_dropout_(ones({x.size(0), config_.heads, 1, 1}, x.dtype()));
    }
    if (inputs.record != nullptr) inputs.record->heads = heads.detach();
    const std::int64_t width = config_.head_dim * config_.heads;
    return hooked(output(reshape(transpose(heads, 1, 2), {x.size(0), x.size(1), width})), x);
}

std::string MultiHeadAttention::settings() const {
    const std::string shared = config_.kv_heads == config_.heads
                                   ? ""
                                   : fmt::format(" over {} of keys and values", config_.kv_heads);
    return fmt::format("{}{}{}", pluralize(config_.heads, "head"), shared,
                       config_.causal ? ", causal" : "");
}

}  // namespace tapestry
