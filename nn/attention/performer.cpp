// Features are exponentials, and any constant factor on those of one query, or of all keys
// together, cancels in the quotient of linear_attention: it is chosen so that nothing overflows.
#include <tapestry/nn/attention/performer.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/nn/attention/linear_attention.h>
#include <tapestry/nn/attention/sequence.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapestry {
namespace {

// W x - |x|^2 / 2, the logarithm of a feature: [..., m]
Tensor exponents(const Tensor& x, const Tensor& projection) {
    return matmul(x, transpose(projection, 0, 1)) - 0.5 * sum(square(x), {-1}, true);
}

// The largest number along `axes`, as a constant.
Tensor largest(const Tensor& x, const std::vector<int>& axes) {
    constexpr double kFinite = 1e30;  // where all are masked, -inf - -inf would be NaN
    return clamp(max(x.detach(), axes, true), -kFinite, kFinite);
}

// By completing the square W x - |x|^2 / 2 <= |W|^2 / 2: what has to be subtracted so that not even
// e^ of that overflows. Of the largest key itself a causal form must know nothing.
double overflow_shift(const Tensor& projection) {
    constexpr double kSafe = 60;  // e^60 = 1e26
    const double highest = max(sum(square(projection.detach()), {-1})).item() / 2;
    return std::max(0.0, highest - kSafe);
}

// Rows i .. of w become orthogonal to those before them, and of length 1 (Gram and Schmidt; twice,
// since once leaves roundings that grow).
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
    // Lengths as those of independent rows, directions at right angles.
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
    require(scale > 0 && std::isfinite(scale), "PerformerAttention: the scale {} is not positive",
            scale);
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

}  // namespace tapestry
