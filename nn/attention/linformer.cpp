#include <tapestry/nn/attention/linformer.h>

#include <tapestry/core/copy.h>
#include <tapestry/nn/attention/sequence.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>

#include <cmath>

namespace tapestry {

LinformerAttention::LinformerAttention(std::int64_t length, std::int64_t k, Generator& generator)
    : AttentionForm("LinformerAttention") {
    require(length > 0 && k > 0, "LinformerAttention: length {} and k {} must be positive", length,
            k);
    const double std = 1 / std::sqrt(static_cast<double>(k));
    key_projection = normal({k, length}, 0, std, generator);
    value_projection = normal({k, length}, 0, std, generator);
    register_parameter("key_projection", key_projection);
    register_parameter("value_projection", value_projection);
}

Tensor LinformerAttention::operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                                      const AttentionOptions& options) const {
    const ModuleScope scope(name());
    const AttentionSizes sizes = check_attention(kind(), q, k, v, options);
    require(!options.causal, "LinformerAttention: has no causal form, a summary mixes all keys");
    require(sizes.keys <= key_projection.size(1),
            "LinformerAttention: {} keys, but it was made for {}", sizes.keys,
            key_projection.size(1));
    const Tensor seen =
        transpose(key_mask(kind(), options.mask, sizes.keys), 2, 3);  // [B, H, S, 1]
    const auto summaries = [&](const Tensor& x, const Tensor& projection) {
        const Tensor part = slice(projection, 1, 0, sizes.keys);
        return matmul(part, options.mask.defined() ? x * cast(seen, x.dtype()) : x);
    };
    const Tensor y = scaled_dot_product_attention(  // [B, H, T, E]
        q, summaries(k, key_projection), summaries(v, value_projection),
        {.scale = options.scale, .dropout = options.dropout, .generator = options.generator});
    return hooked(y, q, k, v);
}

std::string LinformerAttention::settings() const {
    return fmt::format("{} -> {}", key_projection.size(1), key_projection.size(0));
}

}  // namespace tapestry
