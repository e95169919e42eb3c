#include <tapestry/nn/recurrent/attention.h>

#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/ops/view.h>

#include <limits>

namespace tapestry {
namespace {

const AdditiveAttentionConfig& checked(const AdditiveAttentionConfig& c) {
    require(c.query > 0 && c.key > 0 && c.hidden > 0,
            "AdditiveAttention: query {}, key {} and hidden {} must be positive", c.query, c.key,
            c.hidden);
    return c;
}

// -inf where the mask is false.
Tensor masked(const Tensor& scores, const Tensor& mask) {
    if (!mask.defined()) return scores;
    check_dtype("AdditiveAttention: mask", mask, DType::boolean);
    const Shape& wanted = scores.shape();
    bool fits = mask.rank() <= wanted.rank();
    for (int i = 1; fits && i <= mask.rank(); ++i) {
        fits = mask.size(-i) == 1 || mask.size(-i) == wanted[wanted.rank() - i];
    }
    require<ShapeError>(fits, "AdditiveAttention: the mask {} does not broadcast to [B, T, S] = {}",
                        mask.shape(), wanted);
    return masked_fill(scores, logical_not(mask), -std::numeric_limits<double>::infinity());
}

}  // namespace

AdditiveAttention::AdditiveAttention(const AdditiveAttentionConfig& config, Generator& generator)
    : Module("AdditiveAttention"),
      query(checked(config).query, config.hidden, false, generator),
      key(config.key, config.hidden, false, generator),
      score(config.hidden, 1, false, generator) {
    register_module("query", query);
    register_module("key", key);
    register_module("score", score);
}

AdditiveMemory AdditiveAttention::remember(const Tensor& keys, const Tensor& values,
                                           const Tensor& mask) const {
    const ModuleScope scope(name());
    require<ShapeError>(keys.defined() && keys.rank() == 3 && keys.size(2) == key.weight.size(1),
                        "AdditiveAttention: needs keys [B, S, {}], got {}", key.weight.size(1),
                        keys.shape());
    const Tensor& found = values.defined() ? values : keys;
    require<ShapeError>(
        found.rank() == 3 && found.size(0) == keys.size(0) && found.size(1) == keys.size(1),
        "AdditiveAttention: needs one value per key, [{}, {}, V], got {}", keys.size(0),
        keys.size(1), found.shape());
    return {key(keys), found, mask};
}

Tensor AdditiveAttention::operator()(const Tensor& queries, const AdditiveMemory& memory,
                                     Tensor* weights) const {
    const ModuleScope scope(name());
    const Tensor& keys = memory.projected;  // [B, S, A]
    check_defined("AdditiveAttention: memory", keys);
    require<ShapeError>(queries.defined() && queries.rank() == 3 &&
                            queries.size(0) == keys.size(0) &&
                            queries.size(2) == query.weight.size(1),
                        "AdditiveAttention: needs queries [{}, T, {}], got {}", keys.size(0),
                        query.weight.size(1), queries.shape());
    const Tensor both = unsqueeze(query(queries), 2) + unsqueeze(keys, 1);  // [B, T, S, A]
    const Tensor scores = masked(squeeze(score(tanh(both)), -1), memory.mask);
    const Tensor w = softmax(scores);  // [B, T, S]
    if (weights != nullptr) *weights = w.detach();
    return hooked(matmul(w, memory.values), queries);  // [B, T, V]
}

std::string AdditiveAttention::settings() const {
    return fmt::format("queries {}, keys {}, hidden {}", query.weight.size(1), key.weight.size(1),
                       score.weight.size(1));
}

Tensor DotAttention::operator()(const Tensor& queries, const Tensor& keys, const Tensor& values,
                                const Tensor& mask, Tensor* weights) const {
    const ModuleScope scope(name());
    const Tensor context = scaled_dot_product_attention(
        queries, keys, values, {.mask = mask, .scale = 1, .weights = weights});
    return hooked(context, queries, keys, values);
}

}  // namespace tapestry
