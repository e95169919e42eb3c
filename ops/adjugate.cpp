// With complete pivoting P A Q = L U, so adj(A) = det(P) det(Q) Q adj(U) L^-1 P, and with U1 all of
// U but its last row and column, b the rest of that column and u its last element,
//     adj(U) = det(U1) [u U1^-1, -U1^-1 b; 0, 1]
// which needs no inverse of u: complete pivoting makes that the only zero on the diagonal if A has
// rank N - 1. Source: Stewart 1998, "On the adjugate matrix".
#include <tapestry/ops/adjugate.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/parallel.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/linalg.h>
#include <tapestry/ops/staging.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace tapestry {
namespace {

using Numbers = std::vector<double>;
using Order = std::vector<std::size_t>;

struct CompleteFactors {
    explicit CompleteFactors(std::size_t size)
        : n(size), lu(size * size), rows(size), columns(size) {}
    double& at(std::size_t row, std::size_t column) { return lu[row * n + column]; }

    std::size_t n;
    Numbers lu;           // U, and below its diagonal L
    Order rows, columns;  // of A, in the order of L U
    double sign = 1;      // det(P) det(Q)
    std::size_t rank = 0;
};

void exchange(CompleteFactors& f, std::size_t k, std::size_t row, std::size_t column) {
    if (row != k) {
        for (std::size_t j = 0; j < f.n; ++j) std::swap(f.at(k, j), f.at(row, j));
        std::swap(f.rows[k], f.rows[row]);
        f.sign = -f.sign;
    }
    if (column != k) {
        for (std::size_t i = 0; i < f.n; ++i) std::swap(f.at(i, k), f.at(i, column));
        std::swap(f.columns[k], f.columns[column]);
        f.sign = -f.sign;
    }
}

void factorize(CompleteFactors& f) {
    std::iota(f.rows.begin(), f.rows.end(), std::size_t{0});
    std::iota(f.columns.begin(), f.columns.end(), std::size_t{0});
    for (std::size_t k = 0; k < f.n; ++k) {
        std::size_t row = k, column = k;
        for (std::size_t i = k; i < f.n; ++i) {
            for (std::size_t j = k; j < f.n; ++j) {
                if (std::abs(f.at(i, j)) > std::abs(f.at(row, column))) row = i, column = j;
            }
        }
        if (f.at(row, column) == 0) return;
        exchange(f, k, row, column);
        ++f.rank;
        for (std::size_t i = k + 1; i < f.n; ++i) {
            f.at(i, k) /= f.at(k, k);
            for (std::size_t j = k + 1; j < f.n; ++j) f.at(i, j) -= f.at(i, k) * f.at(k, j);
        }
    }
}

// to -= factor from
void subtract(double* to, double factor, const double* from, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) to[i] -= factor * from[i];
}

// adj(U) L^-1 P, [N, N]
Numbers adjugate_of_factors(CompleteFactors& f) {
    const std::size_t n = f.n, last = n - 1;
    Numbers y(n * n, 0.0);
    const auto row = [&](std::size_t i) { return y.data() + i * n; };
    for (std::size_t i = 0; i < n; ++i) {
        row(i)[f.rows[i]] = 1;
        for (std::size_t j = 0; j < i; ++j) subtract(row(i), f.at(i, j), row(j), n);
    }
    double scale = f.sign;
    for (std::size_t i = 0; i < last; ++i) scale *= f.at(i, i);
    const double u = f.rank == n ? f.at(last, last) : 0;
    for (std::size_t i = last; i-- > 0;) {
        for (std::size_t k = 0; k < n; ++k) row(i)[k] *= u;
        subtract(row(i), f.at(i, last), row(last), n);
        for (std::size_t j = i + 1; j < last; ++j) subtract(row(i), f.at(i, j), row(j), n);
        for (std::size_t k = 0; k < n; ++k) row(i)[k] /= f.at(i, i);
    }
    for (double& value : y) value *= scale;
    return y;
}

template <class T>
void cofactors_of_one(T* to, const T* a, std::size_t n) {
    CompleteFactors f(n);
    std::copy(a, a + n * n, f.lu.begin());
    factorize(f);
    if (f.rank + 1 < n) {
        std::fill(to, to + n * n, T(0));
        return;
    }
    const Numbers y = adjugate_of_factors(f);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            to[j * n + f.columns[i]] = static_cast<T>(y[i * n + j]);
        }
    }
}

Tensor without(const Tensor& a, int axis, std::int64_t i) {
    return concat({slice(a, axis, 0, i), slice(a, axis, i + 1, a.size(axis))}, axis);
}

}  // namespace

Tensor cofactors(const Tensor& a) {
    const Tensor matrices = dense(a);
    const std::int64_t n = a.size(-1);
    Tensor y(a.shape(), a.dtype());
    if (n == 0) return y;
    visit_floating("det", a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* const from = matrices.data<T>();
        T* const to = y.mutable_data<T>();
        const std::int64_t per_chunk = (std::int64_t{1} << 16) / (n * n * n);
        parallel_for(a.numel() / (n * n), per_chunk, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                cofactors_of_one(to + i * n * n, from + i * n * n, static_cast<std::size_t>(n));
            }
        });
    });
    return y;
}

Tensor recorded_cofactors(const Tensor& a) {
    const std::int64_t n = a.size(-1);
    if (n < 2) return ones_like(a);
    Tensors minors;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            const Tensor minor = det(without(without(a, -2, i), -1, j));
            minors.push_back((i + j) % 2 == 0 ? minor : neg(minor));
        }
    }
    return reshape(stack(minors, -1), a.shape());
}

}  // namespace tapestry
