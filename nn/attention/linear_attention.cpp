#include <tapestry/nn/attention/linear_attention.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/scan.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapestry {
namespace {

constexpr std::int64_t kSmallestChunk = 32;

Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }

// [B, H, T, D] -> [B, H, N, c, D], the last chunk padded with 0.
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
        const Tensor before =  // what precedes chunk n: the states up to n - 1
            cumsum(pad(states, {{}, {}, {.before = 1, .after = 0}, {}, {}}), 2);
        sums = sums + matmul(ac, before);
    }
    return slice(flatten(sums, 2, 3), 2, 0, length);
}

Tensor elu_plus_one(const Tensor& x) {
    return exp(clamp(x, -std::numeric_limits<double>::infinity(), 0)) + relu(x);
}

}  // namespace

// The denominator is the same sum with 1 for v: v gets a column of ones, and one product gives
// both.
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
        require(earlier >= 0,
                "linear_attention: causal attention needs as many queries as keys, got {} and {}",
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

// ---- Performer ----------------------------------------------------------------------------------

// Features are exponentials, and a constant factor on those of one query, or of all keys, cancels
// in the quotient of linear_attention: it is chosen to prevent overflow.

namespace {

// W x - |x|^2 / 2, the logarithm of a feature: [..., m]
Tensor exponents(const Tensor& x, const Tensor& projection) {
    return matmul(x, transpose(projection, 0, 1)) - 0.5 * sum(square(x), {-1}, true);
}

// The largest element along `axes`, as a constant.
Tensor largest(const Tensor& x, const std::vector<int>& axes) {
    constexpr double kFinite = 1e30;  // if all are masked, -inf - -inf would be NaN
    return clamp(max(x.detach(), axes, true), -kFinite, kFinite);
}

// Completing the square gives W x - |x|^2 / 2 <= |W|^2 / 2; returns what to subtract so that even
// this bound does not overflow. A causal form must not depend on the largest key itself.
double overflow_shift(const Tensor& projection) {
    constexpr double kSafe = 60;  // e^60 = 1e26
    const double highest = max(sum(square(projection.detach()), {-1})).item() / 2;
    return std::max(0.0, highest - kSafe);
}

// Makes rows i .. of w orthogonal to those before them, with length 1 (Gram-Schmidt, twice, because
// one pass leaves roundoff that grows).
void orthonormalise(double* w, std::int64_t rows, std::int64_t dim) {
    const auto dot = [dim](const double* a, const double* b) {
        double sum = 0;
        for (std::int64_t d = 0; d < dim; ++d) sum += a[d] * b[d];
        return sum;
    };
    for (std::int64_t i = 0; i < rows; ++i) {
        double* row = w + i * dim;
        for (std::int64_t j = 0; j < 2 * i; ++j) {
            const double* before = w + j % i * dim;
            const double part = dot(row, before);
            for (std::int64_t d = 0; d < dim; ++d) row[d] -= part * before[d];
        }
        const double length = std::sqrt(dot(row, row));
        for (std::int64_t d = 0; d < dim; ++d) row[d] /= length;
    }
}

}  // namespace

Tensor positive_features(const Tensor& x, const Tensor& projection) {
    return exp(exponents(x, projection)) / std::sqrt(static_cast<double>(projection.size(0)));
}

Tensor orthogonal_gaussian(std::int64_t m, std::int64_t dim, Generator& generator, DType dtype) {
    require(m > 0 && dim > 0, "orthogonal_gaussian: [{}, {}] is empty", m, dim);
    Tensor w = randn({m, dim}, generator, DType::f64);
    // Lengths as of independent rows, orthogonal directions.
    const Tensor lengths = sqrt(sum(square(randn({m, dim}, generator, DType::f64)), {-1}, true));
    for (std::int64_t first = 0; first < m; first += dim) {
        orthonormalise(w.mutable_data<double>() + first * dim, std::min(dim, m - first), dim);
    }
    const NoGradGuard no_grad;
    return cast(w * lengths, dtype);
}

PerformerAttention::PerformerAttention(std::int64_t head_dim, std::int64_t features,
                                       Generator& generator)
    : AttentionForm("PerformerAttention") {
    require(head_dim > 0 && features > 0,
            "PerformerAttention: head_dim {} and features {} must be positive", head_dim, features);
    projection = orthogonal_gaussian(features, head_dim, generator);
    register_buffer("projection", projection);
}

void PerformerAttention::redraw(Generator& generator) {
    projection =
        orthogonal_gaussian(projection.size(0), projection.size(1), generator, projection.dtype());
}

Tensor PerformerAttention::operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                                      const AttentionOptions& options) const {
    const ModuleScope scope(name());
    const AttentionSizes sizes = check_attention(kind(), q, k, v, options);
    refuse_weights(kind(), options, true);
    if (options.causal) check_positions(kind(), sizes, true);
    require<ShapeError>(sizes.width == projection.size(1),
                        "PerformerAttention: heads of size {}, but it was made for {}", sizes.width,
                        projection.size(1));
    const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(sizes.width)));
    require(scale > 0 && std::isfinite(scale),
            "PerformerAttention: the scale must be positive, got {}", scale);
    const Tensor of_q = exponents(q * std::sqrt(scale), projection);  // [B, H, T, m]
    Tensor of_k = exponents(k * std::sqrt(scale), projection);        // [B, H, S, m]
    if (options.mask.defined()) {
        const Tensor seen = transpose(key_mask(kind(), options.mask, sizes.keys), 2, 3);
        of_k = masked_fill(of_k, logical_not(seen), -std::numeric_limits<double>::infinity());
    }
    const Tensor features_q = exp(of_q - largest(of_q, {-1}));
    const Tensor features_k = options.causal ? exp(of_k - overflow_shift(projection))
                                             : exp(of_k - largest(of_k, {-2, -1}));
    return hooked(linear_attention(features_q, features_k, v, options.causal), q, k, v);
}

std::string PerformerAttention::settings() const {
    return fmt::format("{} features", projection.size(0));
}

// ---- Linformer ----------------------------------------------------------------------------------

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
    require(!options.causal,
            "LinformerAttention: has no causal form, because a summary mixes all keys");
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
