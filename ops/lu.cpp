// All inner loops run along rows, which lie in memory; the compiler makes vectors of them.
#include <tapestry/ops/lu.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/parallel.h>
#include <tapestry/ops/batch.h>

#include <algorithm>
#include <cmath>

namespace tapestry {
namespace {

// Multiplications that are worth a thread of their own.
constexpr std::int64_t kWork = 1 << 16;

std::int64_t per_chunk(std::int64_t work) { return kWork / std::max<std::int64_t>(1, work); }

// to[i] -= factor * from[i]
template <class T>
void subtract_row(T* to, T factor, const T* from, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) to[i] -= factor * from[i];
}

// The row at or below `column` with the largest element there; NaN, which nothing can better, is
// left where it is.
template <class T>
std::int64_t find_pivot(const T* a, std::int64_t column, std::int64_t n) {
    std::int64_t best = column;
    for (std::int64_t row = column + 1; row < n; ++row) {
        if (std::abs(a[row * n + column]) > std::abs(a[best * n + column])) best = row;
    }
    return best;
}

template <class T>
void factorize_one(T* a, std::int64_t* pivots, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) {
        pivots[k] = find_pivot(a, k, n);
        T* const pivot_row = a + pivots[k] * n;
        T* const top = a + k * n;
        if (pivot_row != top) std::swap_ranges(top, top + n, pivot_row);
        if (top[k] == T(0)) continue;
        for (std::int64_t row = k + 1; row < n; ++row) {
            T* const below = a + row * n;
            below[k] /= top[k];
            subtract_row(below + k + 1, below[k], top + k + 1, n - k - 1);
        }
    }
}

// x [N, K] = U^-1 L^-1 P x
template <class T>
void solve_one(const T* lu, const std::int64_t* pivots, T* x, std::int64_t n, std::int64_t k) {
    for (std::int64_t row = 0; row < n; ++row) {
        if (pivots[row] == row) continue;
        std::swap_ranges(x + row * k, x + (row + 1) * k, x + pivots[row] * k);
    }
    for (std::int64_t row = 1; row < n; ++row) {
        for (std::int64_t j = 0; j < row; ++j) {
            subtract_row(x + row * k, lu[row * n + j], x + j * k, k);
        }
    }
    for (std::int64_t row = n - 1; row >= 0; --row) {
        T* const to = x + row * k;
        for (std::int64_t j = row + 1; j < n; ++j) subtract_row(to, lu[row * n + j], x + j * k, k);
        for (std::int64_t i = 0; i < k; ++i) to[i] /= lu[row * n + row];
    }
}

// The first column of a matrix that has no pivot, or -1.
template <class T>
std::int64_t column_without_pivot(const T* lu, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) {
        if (lu[k * n + k] == T(0)) return k;
    }
    return -1;
}

Shape index_in(const Shape& shape, std::int64_t flat) {
    Shape index = shape;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        index[axis] = flat % shape[axis];
        flat /= shape[axis];
    }
    return index;
}

}  // namespace

LuFactors factorize(const Tensor& a) {
    const std::int64_t n = a.size(-1);
    const Tensor matrices = dense(a);
    LuFactors factors{matrices.clone(), Tensor(a.shape().sub(0, a.rank() - 1), DType::i64)};
    std::int64_t* const pivots = factors.pivots.mutable_data<std::int64_t>();
    visit_floating("lu", a.dtype(), [&](auto zero) {
        auto* const lu = factors.lu.mutable_data<decltype(zero)>();
        parallel_for(numel(leading_shape(a)), per_chunk(n * n * n), [&](auto begin, auto end) {
            for (std::int64_t i = begin; i < end; ++i) {
                factorize_one(lu + i * n * n, pivots + i * n, n);
            }
        });
    });
    return factors;
}

void check_regular(std::string_view op, const LuFactors& factors) {
    const Shape batch = leading_shape(factors.lu);
    const std::int64_t n = factors.lu.size(-1);
    visit_floating(op, factors.lu.dtype(), [&](auto zero) {
        const auto* const lu = factors.lu.data<decltype(zero)>();
        for (std::int64_t i = 0; i < numel(batch); ++i) {
            const std::int64_t column = column_without_pivot(lu + i * n * n, n);
            if (column < 0) continue;
            if (batch.empty()) {
                fail("{}: the matrix is singular: column {} has no pivot", op, column);
            }
            fail("{}: matrix {} of the batch {} is singular: column {} has no pivot", op,
                 index_in(batch, i), batch, column);
        }
    });
}

void solve_in_place(const LuFactors& factors, Tensor& x) {
    const std::int64_t n = x.size(-2);
    const std::int64_t k = x.size(-1);
    const Shape batch = leading_shape(x);
    const Strides strides = leading_strides(factors.lu, batch);  // that of pivots is 1 / N of it
    const std::int64_t* const pivots = factors.pivots.data<std::int64_t>();
    visit_floating("lu", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* const lu = factors.lu.data<T>();
        T* const to = x.mutable_data<T>();
        parallel_for(numel(batch), per_chunk(n * n * k), [&](auto begin, auto end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t matrix = offset_at(i, batch, strides);
                solve_one(lu + matrix, pivots + matrix / std::max<std::int64_t>(1, n),
                          to + i * n * k, n, k);
            }
        });
    });
}

}  // namespace tapestry
