#include <tapestry/nn/attention/diagnostics.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/check.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace tapestry {
namespace {

using Matrix = std::vector<double>;  // n x n, row-major

// The smaller Gram matrix of x [rows, columns]; returns its size.
std::int64_t gram(const double* x, std::int64_t rows, std::int64_t columns, Matrix& g) {
    const bool by_rows = rows <= columns;
    const std::int64_t n = std::min(rows, columns), length = std::max(rows, columns);
    const std::int64_t step = by_rows ? columns : 1, along = by_rows ? 1 : columns;
    g.assign(static_cast<std::size_t>(n * n), 0);
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (std::int64_t l = 0; l < length; ++l) {
                sum += x[i * step + l * along] * x[j * step + l * along];
            }
            g[static_cast<std::size_t>(i * n + j)] = sum;
        }
    }
    return n;
}

// One rotation in the plane of axes p and q, after which g(p, q) = 0.
void rotate(Matrix& g, std::size_t n, std::size_t p, std::size_t q) {
    const double apq = g[p * n + q];
    if (apq == 0) return;
    const double theta = (g[q * n + q] - g[p * n + p]) / (2 * apq);
    const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::hypot(theta, 1));
    const double c = 1 / std::hypot(t, 1), s = t * c;
    for (std::size_t k = 0; k < n; ++k) {  // columns p and q
        const double gp = g[k * n + p], gq = g[k * n + q];
        g[k * n + p] = c * gp - s * gq;
        g[k * n + q] = s * gp + c * gq;
    }
    for (std::size_t k = 0; k < n; ++k) {  // rows p and q
        const double gp = g[p * n + k], gq = g[q * n + k];
        g[p * n + k] = c * gp - s * gq;
        g[q * n + k] = s * gp + c * gq;
    }
}

// Rotates symmetric g until its off-diagonal part is roundoff; the diagonal then holds its
// eigenvalues.
void diagonalise(Matrix& g, std::size_t n) {
    constexpr int kMostSweeps = 50;  // quadratic convergence: about 10 are enough
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
        double off = 0, diagonal = 0;
        for (std::size_t i = 0; i < n * n; ++i) {
            (i % (n + 1) == 0 ? diagonal : off) += g[i] * g[i];
        }
        if (off <= 1e-34 * diagonal) return;
        for (std::size_t p = 0; p < n; ++p) {
            for (std::size_t q = p + 1; q < n; ++q) rotate(g, n, p, q);
        }
    }
}

Tensor in_double(const char* what, const Tensor& x, int rank) {
    check_floating(what, x);
    require<ShapeError>(rank == 0 ? x.rank() >= 2 : x.rank() == rank, "{}: needs {}, got {}", what,
                        rank == 0 ? "[..., M, N]" : "[B, H, ., .]", x.shape());
    return dense(cast(x, DType::f64));
}

// The mean of f(weights, S, position of the query) over all queries.
template <class F>
Tensor mean_over_queries(const char* what, const Tensor& weights, const F& f) {
    const Tensor w = in_double(what, weights, 4);
    const std::int64_t heads = w.size(1), queries = w.size(2), keys = w.size(3);
    Tensor result = zeros({heads}, DType::f64), counts = zeros({heads}, DType::f64);
    auto* total = result.mutable_data<double>();
    auto* count = counts.mutable_data<double>();
    const auto* row = w.data<double>();
    for (std::int64_t i = 0; i < w.size(0) * heads * queries; ++i, row += keys) {
        const std::int64_t head = i / queries % heads;
        if (std::all_of(row, row + keys, [](double p) { return p == 0; })) continue;
        total[head] += f(row, keys, i % queries + keys - queries);
        ++count[head];
    }
    for (std::int64_t h = 0; h < heads; ++h) total[h] /= count[h];  // 0 / 0: NaN
    return result;
}

}  // namespace

Tensor singular_values(const Tensor& x) {
    const Tensor in = in_double("singular_values", x, 0);
    const std::int64_t rows = in.size(-2), columns = in.size(-1), n = std::min(rows, columns);
    Tensor result(in.shape().sub(0, in.rank() - 2) + Shape{n}, DType::f64);
    auto* to = result.mutable_data<double>();
    Matrix g;
    for (std::int64_t i = 0; n > 0 && i < result.numel() / n; ++i, to += n) {
        const double* const matrix = in.data<double>() + i * rows * columns;
        const auto is_finite = [](double one) { return std::isfinite(one); };
        if (!std::all_of(matrix, matrix + rows * columns, is_finite)) {
            std::fill_n(to, n, std::numeric_limits<double>::quiet_NaN());
            continue;
        }
        gram(matrix, rows, columns, g);
        const auto size = static_cast<std::size_t>(n);
        diagonalise(g, size);
        for (std::size_t k = 0; k < size; ++k) to[k] = std::sqrt(std::max(0.0, g[k * (size + 1)]));
        std::sort(to, to + n, std::greater<>());
    }
    return result;
}

Tensor head_rank(const Tensor& heads, double threshold) {
    require(threshold >= 1e-8 && threshold < 1,
            "head_rank: threshold must be from 1e-8 to 1, got {}", threshold);
    const Tensor values = singular_values(in_double("head_rank", heads, 4));  // [B, H, n]
    const std::int64_t n = values.size(2);
    Tensor result = zeros({heads.size(0), heads.size(1)}, DType::i64);
    auto* to = result.mutable_data<std::int64_t>();
    for (std::int64_t i = 0; n > 0 && i < result.numel(); ++i) {
        const double* first = values.data<double>() + i * n;
        to[i] = std::count_if(first, first + n, [=](double v) { return v > threshold * *first; });
    }
    return result;
}

Tensor head_similarity(const Tensor& heads) {
    const Tensor in = in_double("head_similarity", heads, 4);
    const std::int64_t batch = in.size(0), count = in.size(1), size = in.size(2) * in.size(3);
    Tensor result = zeros({batch, count, count}, DType::f64);
    auto* to = result.mutable_data<double>();
    Matrix g(static_cast<std::size_t>(count * count));
    for (std::int64_t b = 0; b < batch; ++b, to += count * count) {
        const double* h = in.data<double>() + b * count * size;
        const auto dot = [h, size](std::int64_t i, std::int64_t j) {
            double sum = 0;
            for (std::int64_t l = 0; l < size; ++l) sum += h[i * size + l] * h[j * size + l];
            return sum;
        };
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t j = 0; j < count; ++j) {
                const double lengths = std::sqrt(dot(i, i)) * std::sqrt(dot(j, j));
                if (lengths == 0) continue;
                to[i * count + j] = i == j && std::isfinite(lengths) ? 1 : dot(i, j) / lengths;
            }
        }
    }
    return result;
}

Tensor attention_entropy(const Tensor& weights) {
    return mean_over_queries("attention_entropy", weights,
                             [](const double* p, std::int64_t keys, std::int64_t) {
                                 double entropy = 0;
                                 for (std::int64_t j = 0; j < keys; ++j)
                                     entropy -= p[j] == 0 ? 0 : p[j] * std::log(p[j]);
                                 return entropy;
                             });
}

Tensor attention_distance(const Tensor& weights) {
    return mean_over_queries("attention_distance", weights,
                             [](const double* p, std::int64_t keys, std::int64_t position) {
                                 double distance = 0;
                                 for (std::int64_t j = 0; j < keys; ++j) {
                                     distance += p[j] * static_cast<double>(std::abs(position - j));
                                 }
                                 return distance;
                             });
}

}  // namespace tapestry
