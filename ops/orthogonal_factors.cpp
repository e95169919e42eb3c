// Householder's reflections for qr; Jacobi's rotations for eigh and svd, slower than LAPACK's
// reductions to tridiagonal form, but short and accurate for small values. Matrices of a few
// hundred rows take well below a second. Source: Golub and Van Loan, "Matrix
// Computations", 5.2, 8.5, 8.6.3.
#include <tapestry/ops/orthogonal_factors.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace tapestry::factors {
namespace {

constexpr int kSweeps = 60;         // ten are usual
constexpr double kSmall = 0x1p-53;  // relative size of what need not be rotated away

double* row_of(Numbers& a, std::int64_t row, std::int64_t columns) {
    return a.data() + row * columns;
}

Numbers identity(std::int64_t n) {
    Numbers a(static_cast<std::size_t>(n * n), 0.0);
    for (std::int64_t i = 0; i < n; ++i) a[static_cast<std::size_t>(i * n + i)] = 1;
    return a;
}

double dot(const double* x, const double* y, std::int64_t n) {
    return std::inner_product(x, x + n, y, 0.0);
}

// Scales to a largest entry between 1/2 and 1, so squares neither overflow nor vanish. Returns the
// exponent: a was 2^e times as large.
int scale_to_one(Numbers& a) {
    double largest = 0;
    for (const double x : a) largest = std::max(largest, std::abs(x));
    int exponent = 0;
    std::frexp(largest, &exponent);
    for (double& x : a) x = std::ldexp(x, -exponent);
    return exponent;
}

// x' = c x - s y, y' = s x + c y
void rotate(double* x, double* y, double c, double s, std::int64_t n, std::int64_t step = 1) {
    for (std::int64_t i = 0; i < n * step; i += step) {
        const double before = x[i];
        x[i] = c * before - s * y[i];
        y[i] = s * before + c * y[i];
    }
}

// Tangent of the smaller angle whose rotation makes 2 gamma / (beta - alpha) vanish.
double tangent(double alpha, double gamma, double beta) {
    const double zeta = (beta - alpha) / (2 * gamma);
    return std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
}

// Makes the entry of largest size positive, the first of equals.
bool should_flip(const double* x, std::int64_t n, std::int64_t step) {
    double largest = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        if (std::abs(x[i * step]) > std::abs(largest)) largest = x[i * step];
    }
    return largest < 0;
}

// The order in which `values` ascend; stable.
std::vector<std::int64_t> ascending(const Numbers& values) {
    std::vector<std::int64_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
        return values[static_cast<std::size_t>(i)] < values[static_cast<std::size_t>(j)];
    });
    return order;
}

// Fills row k of u [K, M] with a unit vector orthogonal to the rows before it.
void complete(Numbers& u, std::int64_t k, std::int64_t m) {
    double* const row = row_of(u, k, m);
    for (std::int64_t i = 0; i < m; ++i) {
        std::fill(row, row + m, 0.0);
        row[i] = 1;
        for (int twice = 0; twice < 2; ++twice) {
            for (std::int64_t j = 0; j < k; ++j) {
                const double* const other = u.data() + j * m;
                const double along = dot(row, other, m);
                for (std::int64_t e = 0; e < m; ++e) row[e] -= along * other[e];
            }
        }
        const double length = std::sqrt(dot(row, row, m));
        if (length * length * 2 * static_cast<double>(m) < 1) continue;  // one of them is longer
        for (std::int64_t e = 0; e < m; ++e) row[e] /= length;
        return;
    }
}

// w [N, M], the columns of a, becomes orthogonal; v [N, N], initially the identity, is rotated
// alike.
void orthogonalize(Numbers& w, Numbers& v, std::int64_t n, std::int64_t m) {
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
        bool rotated = false;
        for (std::int64_t p = 0; p < n; ++p) {
            for (std::int64_t q = p + 1; q < n; ++q) {
                double *const x = row_of(w, p, m), *const y = row_of(w, q, m);
                const double alpha = dot(x, x, m), beta = dot(y, y, m), gamma = dot(x, y, m);
                if (std::abs(gamma) <= kSmall * std::sqrt(alpha) * std::sqrt(beta)) continue;
                rotated = true;
                const double t = tangent(alpha, gamma, beta), c = 1 / std::hypot(1.0, t);
                rotate(x, y, c, c * t, m);
                rotate(row_of(v, p, n), row_of(v, q, n), c, c * t, n);
            }
        }
        if (!rotated) return;
    }
}

}  // namespace

void qr(Numbers& a, Numbers& r, std::int64_t m, std::int64_t n) {
    Numbers reflectors(static_cast<std::size_t>(n * m), 0.0);  // row k: the k-th, 0 before entry k
    for (std::int64_t k = 0; k < n; ++k) {
        double* const v = row_of(reflectors, k, m);
        double largest = 0;
        for (std::int64_t i = k; i < m; ++i) {
            v[i] = a[static_cast<std::size_t>(i * n + k)];
            largest = std::max(largest, std::abs(v[i]));
        }
        if (largest == 0) continue;
        for (std::int64_t i = k; i < m; ++i) v[i] /= largest;
        v[k] += std::copysign(std::sqrt(dot(v + k, v + k, m - k)), v[k]);
        const double scale = 2 / dot(v + k, v + k, m - k);
        for (std::int64_t j = k; j < n; ++j) {
            double along = 0;
            for (std::int64_t i = k; i < m; ++i)
                along += v[i] * a[static_cast<std::size_t>(i * n + j)];
            for (std::int64_t i = k; i < m; ++i) {
                a[static_cast<std::size_t>(i * n + j)] -= scale * along * v[i];
            }
        }
    }
    r.assign(static_cast<std::size_t>(n * n), 0.0);
    for (std::int64_t i = 0; i < n; ++i) {
        std::copy_n(row_of(a, i, n) + i, n - i, row_of(r, i, n) + i);
    }
    std::fill(a.begin(), a.end(), 0.0);  // q: the reflections of the first columns of the identity
    for (std::int64_t i = 0; i < n; ++i) a[static_cast<std::size_t>(i * n + i)] = 1;
    for (std::int64_t k = n - 1; k >= 0; --k) {
        const double* const v = row_of(reflectors, k, m);
        const double squared = dot(v + k, v + k, m - k);
        if (squared == 0) continue;
        for (std::int64_t j = 0; j < n; ++j) {
            double along = 0;
            for (std::int64_t i = k; i < m; ++i)
                along += v[i] * a[static_cast<std::size_t>(i * n + j)];
            for (std::int64_t i = k; i < m; ++i) {
                a[static_cast<std::size_t>(i * n + j)] -= 2 / squared * along * v[i];
            }
        }
    }
    for (std::int64_t k = 0; k < n; ++k) {
        if (!(r[static_cast<std::size_t>(k * n + k)] < 0)) continue;
        for (std::int64_t j = k; j < n; ++j) r[static_cast<std::size_t>(k * n + j)] *= -1;
        for (std::int64_t i = 0; i < m; ++i) a[static_cast<std::size_t>(i * n + k)] *= -1;
    }
}

void eigh(Numbers& a, Numbers& values, Numbers& vectors, std::int64_t n) {
    const int exponent = scale_to_one(a);
    const auto at = [&](std::int64_t i, std::int64_t j) -> double& {
        return a[static_cast<std::size_t>(i * n + j)];
    };
    double squares = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
            at(i, j) = at(j, i) = (at(i, j) + at(j, i)) / 2;
            squares += at(i, j) * at(i, j);
        }
    }
    Numbers v = identity(n);  // rows: the vectors
    const double least = std::sqrt(squares) * 0x1p-64;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
        bool rotated = false;
        for (std::int64_t p = 0; p < n; ++p) {
            for (std::int64_t q = p + 1; q < n; ++q) {
                if (std::abs(at(p, q)) <= least) continue;
                rotated = true;
                const double t = tangent(at(p, p), at(p, q), at(q, q)), c = 1 / std::hypot(1.0, t);
                rotate(row_of(a, p, n), row_of(a, q, n), c, c * t, n);
                rotate(a.data() + p, a.data() + q, c, c * t, n, n);
                at(p, q) = at(q, p) = 0;
                rotate(row_of(v, p, n), row_of(v, q, n), c, c * t, n);
            }
        }
        if (!rotated) break;
    }
    Numbers diagonal;
    for (std::int64_t i = 0; i < n; ++i) diagonal.push_back(std::ldexp(at(i, i), exponent));
    values.clear();
    vectors.resize(a.size());
    std::int64_t column = 0;
    for (const std::int64_t i : ascending(diagonal)) {
        values.push_back(diagonal[static_cast<std::size_t>(i)]);
        const double* const row = v.data() + i * n;
        const double sign = should_flip(row, n, 1) ? -1 : 1;
        for (std::int64_t j = 0; j < n; ++j) {
            vectors[static_cast<std::size_t>(j * n + column)] = sign * row[j];
        }
        ++column;
    }
}

namespace {

// Of a [M, N] with M >= N, given as its columns w [N, M]: u and v in rows, by descending values.
void tall_svd(Numbers w, Numbers& u, Numbers& s, Numbers& v, std::int64_t m, std::int64_t n) {
    const int exponent = scale_to_one(w);
    Numbers turned = identity(n);
    orthogonalize(w, turned, n, m);
    Numbers lengths;
    for (std::int64_t i = 0; i < n; ++i)
        lengths.push_back(-std::sqrt(dot(w.data() + i * m, w.data() + i * m, m)));
    u.assign(w.size(), 0.0);
    v.assign(turned.size(), 0.0);
    s.clear();
    std::int64_t k = 0;
    for (const std::int64_t i : ascending(lengths)) {
        const double length = -lengths[static_cast<std::size_t>(i)];
        s.push_back(std::ldexp(length, exponent));
        std::copy_n(row_of(turned, i, n), n, row_of(v, k, n));
        if (length > 0) {
            for (std::int64_t e = 0; e < m; ++e) {
                u[static_cast<std::size_t>(k * m + e)] =
                    w[static_cast<std::size_t>(i * m + e)] / length;
            }
        } else {
            complete(u, k, m);
        }
        ++k;
    }
}

Numbers transposed(const Numbers& a, std::int64_t rows, std::int64_t columns) {
    Numbers y(a.size());
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
            y[static_cast<std::size_t>(j * rows + i)] =
                a[static_cast<std::size_t>(i * columns + j)];
        }
    }
    return y;
}

}  // namespace

void svd(const Numbers& a, Numbers& u, Numbers& s, Numbers& vh, std::int64_t m, std::int64_t n) {
    const std::int64_t k = std::min(m, n);
    Numbers left;  // u^T [K, M]
    if (m >= n) {
        tall_svd(transposed(a, m, n), left, s, vh, m, n);
    } else {  // of a^T, whose columns are the rows of a
        tall_svd(a, vh, s, left, n, m);
    }
    for (std::int64_t i = 0; i < k; ++i) {
        if (!should_flip(left.data() + i * m, m, 1)) continue;
        for (std::int64_t e = 0; e < m; ++e) left[static_cast<std::size_t>(i * m + e)] *= -1;
        for (std::int64_t e = 0; e < n; ++e) vh[static_cast<std::size_t>(i * n + e)] *= -1;
    }
    u = transposed(left, k, m);
}

}  // namespace tapestry::factors
