// The denominator is the same sum with 1 for v: v gets a column of ones, and both come out of one
// product.
#include <tapestry/nn/attention/linear_attention.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/nn/attention/sequence.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/scan.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <limits>

namespace tapestry {
namespace {

constexpr std::int64_t kSmallestChunk = 32;

Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }

// [B, H, T, D] -> [B, H, N, c, D], the last chunk filled up with 0.
Tensor chunked(const Tensor& x, std::int64_t chunk) {
    const std::int64_t length = x.size(2), count = (length - 1) / chunk + 1;
    const Tensor full = pad(x, {{}, {}, {.before = 0, .after = count * chunk - length}, {}});
    return reshape(full, {x.size(0), x.size(1), count, chunk, x.size(3)});
}

// sum over j <= i of (a_i . b_j) v_j, [B, H, T, E], for as many queries as keys.
Tensor running_sum(const Tensor& a, const Tensor& b, const Tensor& v) {
    const std::int64_t length = a.size(2);
    const std::int64_t chunk = std::min(length, std::max(kSmallestChunk, a.size(3)));
    const Tensor ac = chunked(a, chunk), bc = chunked(b, chunk), vc = chunked(v, chunk);
    const std::int64_t count = ac.size(2);
    Tensor sums = matmul(tril(matmul(ac, transposed(bc))), vc);  // [B, H, N, c, E]
    if (count > 1) {
        const Tensor states = matmul(transposed(slice(bc, 2, 0, count - 1)),  // [B, H, N - 1, F, E]
                                     slice(vc, 2, 0, count - 1));
        const Tensor before =  // what chunk n finds: the states up to n - 1, and no later number
            cumsum(pad(states, {{}, {}, {.before = 1, .after = 0}, {}, {}}), 2);
        sums = sums + matmul(ac, before);
    }
    return slice(flatten(sums, 2, 3), 2, 0, length);
}

}  // namespace

Tensor linear_attention(const Tensor& a, const Tensor& b, const Tensor& v, bool causal) {
    const AttentionSizes sizes = check_attention("linear_attention", a, b, v, {});
    Shape column = v.shape();
    column[3] = 1;
    const Tensor extended = concat({v, ones(column, v.dtype())}, -1);  // [B, H, S, E + 1]
    Tensor sums;                                                       // [B, H, T, E + 1]
    if (!causal) {
        sums = matmul(a, matmul(transposed(b), extended));
    } else {
        const std::int64_t earlier = sizes.keys - sizes.queries;
        require(earlier >= 0, "linear_attention: {} queries for {} keys: causal, it needs as many",
                sizes.queries, sizes.keys);
        const Tensors keys = split(b, {earlier, sizes.queries}, 2);
        const Tensors values = split(extended, {earlier, sizes.queries}, 2);
        sums = running_sum(a, keys[1], values[1]);
        if (earlier > 0) sums = sums + matmul(a, matmul(transposed(keys[0]), values[0]));
    }
    const Tensors parts = split(sums, {sizes.values, 1}, -1);
    const Tensor one = scalar(1, v.dtype());
    return parts[0] / where(eq(parts[1], 0), one, parts[1]);
}

namespace {

Tensor elu_plus_one(const Tensor& x) {
    return exp(clamp(x, -std::numeric_limits<double>::infinity(), 0)) + relu(x);
}

}  // namespace

Tensor LinearAttention::operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                                   const AttentionOptions& options) const {
    const ModuleScope scope(name());
    const AttentionSizes sizes = check_attention(kind(), q, k, v, options);
    refuse_weights(kind(), options, false);
    if (options.causal) check_positions(kind(), sizes, true);
    Tensor features = elu_plus_one(k);  // [B, H, S, D]
    if (options.mask.defined()) {
        const Tensor seen = transpose(key_mask(kind(), options.mask, sizes.keys), 2, 3);
        features = features * cast(seen, k.dtype());
    }
    return hooked(linear_attention(elu_plus_one(q), features, v, options.causal), q, k, v);
}

}  // namespace tapestry
