#include <tapestry/nn/attention/attention_form.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/view.h>

namespace tapestry {

AttentionSizes check_attention(std::string_view form, const Tensor& q, const Tensor& k,
                               const Tensor& v, const AttentionOptions& options) {
    check_floating(form, q);
    check_same_dtype(form, q, k);
    check_same_dtype(form, q, v);
    const bool ranks = q.rank() == 4 && k.rank() == 4 && v.rank() == 4;
    const bool fit = ranks && q.shape().sub(0, 2) == k.shape().sub(0, 2) &&
                     k.shape().sub(0, 3) == v.shape().sub(0, 3) && q.size(3) == k.size(3);
    require<ShapeError>(fit,
                        "{}: needs q [B, H, T, D], k [B, H, S, D], v [B, H, S, E], got {}, {}, {}",
                        form, q.shape(), k.shape(), v.shape());
    require<ShapeError>(q.size(2) > 0 && k.size(2) > 0, "{}: empty sequence: q {}, k {}", form,
                        q.shape(), k.shape());
    if (options.weights != nullptr) *options.weights = Tensor();
    return {q.size(2), k.size(2), q.size(3), v.size(3)};
}

void check_positions(std::string_view form, const AttentionSizes& sizes, bool causal) {
    require(
        sizes.queries == sizes.keys || (causal && sizes.queries < sizes.keys),
        "{}: {} queries for {} keys: it only looks at nearby positions, so it needs self-attention",
        form, sizes.queries, sizes.keys);
}

void refuse_weights(std::string_view form, const AttentionOptions& options, bool scaled) {
    require(options.dropout == 0, "{}: it computes no weights, so dropout must be 0, got {}", form,
            options.dropout);
    require(scaled || !options.scale, "{}: has no scores to scale by {}", form,
            options.scale.value_or(0));
}

Tensor key_mask(std::string_view form, const Tensor& mask, std::int64_t keys) {
    if (!mask.defined()) return ones({1, 1, 1, keys}, DType::boolean);
    const int rank = mask.rank();
    const bool padding = mask.dtype() == DType::boolean && rank >= 1 && rank <= 4 &&
                         (rank < 2 || mask.size(-2) == 1) && mask.size(-1) == keys;
    require(padding,
            "{}: takes masks that are the same for all queries, bool [B, 1, 1, {}], got {} {}",
            form, keys, mask.dtype(), mask.shape());
    Shape shape = mask.shape();
    while (shape.rank() < 4) shape.insert(0, 1);
    return reshape(mask, shape);
}

}  // namespace tapestry
