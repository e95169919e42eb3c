#include <tapestry/nn/attention/masks.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/view.h>

#include <limits>

namespace tapestry {

Tensor causal_mask(std::int64_t queries, std::int64_t keys) {
    require(queries >= 0 && keys >= 0, "causal_mask: {} queries and {} keys", queries, keys);
    return tril(ones({queries, keys}, DType::boolean), keys - queries);
}

Tensor window_mask(std::int64_t queries, std::int64_t keys, std::int64_t window) {
    require(queries >= 0 && keys >= 0 && window > 0, "window_mask: {} queries, {} keys, window {}",
            queries, keys, window);
    return triu(ones({queries, keys}, DType::boolean), keys - queries - window + 1);
}

Tensor padding_mask(const Tensor& ids, std::int64_t padding_id) {
    require<ShapeError>(ids.defined() && ids.rank() == 2 && ids.dtype() == DType::i64,
                        "padding_mask: needs ids i64 [B, S], got {} {}", ids.dtype(), ids.shape());
    const Tensor real = ne(ids, static_cast<double>(padding_id));
    return reshape(real, {ids.size(0), 1, 1, ids.size(1)});
}

Tensor length_mask(const Tensor& lengths, std::int64_t keys) {
    require<ShapeError>(lengths.defined() && lengths.rank() == 1 && lengths.dtype() == DType::i64,
                        "length_mask: needs lengths i64 [B], got {} {}", lengths.dtype(),
                        lengths.shape());
    const auto values = lengths.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < values.size(); ++i) {
        require(values[i] >= 0 && values[i] <= keys,
                "length_mask: length {} at position {} is not between 0 and {}", values[i], i,
                keys);
    }
    const Tensor inside = lt(arange(keys), reshape(lengths, {lengths.size(0), 1}));  // [B, S]
    return reshape(inside, {lengths.size(0), 1, 1, keys});
}

Tensor added_mask(const Tensor& mask, const Tensor& bias) {
    if (!mask.defined()) return bias;
    if (mask.dtype() != DType::boolean) return mask + bias;
    return where(mask, bias, scalar(-std::numeric_limits<double>::infinity(), bias.dtype()));
}

}  // namespace tapestry
