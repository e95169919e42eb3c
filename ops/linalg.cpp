// The LU factors, P A = L U, with which systems are solved and determinants computed; then the ops.
//
// Source: Golub and Van Loan, "Matrix Computations", 3.4: Gaussian elimination with partial
// pivoting, row by row. All inner loops run along rows, which are contiguous, so the compiler
// vectorises them.
#include <tapestry/ops/linalg.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/adjugate.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/batch.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/staging.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tapestry {

// ---- the factors --------------------------------------------------------------------------------

namespace {

struct LuFactors {
    Tensor lu;      ///< [..., N, N]: U, and below its diagonal L (unit diagonal)
    Tensor pivots;  ///< [..., N] i64: row k was exchanged with row pivots[k] >= k, in this order
};

// Multiplications worth a thread.
constexpr std::int64_t kWork = 1 << 16;

std::int64_t per_chunk(std::int64_t work) { return kWork / std::max<std::int64_t>(1, work); }

// to[i] -= factor * from[i]
template <class T>
void subtract_row(T* to, T factor, const T* from, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) to[i] -= factor * from[i];
}

// The row at or below `column` with the largest element in that column. A NaN on the diagonal is
// kept, because nothing compares greater.
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

/// Factors each matrix of a [..., N, N], f32 or f64. A column without a pivot leaves 0 on the
/// diagonal.
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

/// Throws ValueError, naming `op`, for the first singular matrix.
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
                 unravel_index(i, batch), batch, column);
        }
    });
}

/// x [..., N, K], dense, becomes a^-1 x; the batch of the factors broadcasts to that of x.
void solve_in_place(const LuFactors& factors, Tensor& x) {
    const std::int64_t n = x.size(-2);
    const std::int64_t k = x.size(-1);
    const Shape batch = leading_shape(x);
    const Strides strides = leading_strides(factors.lu, batch);  // pivots have these divided by N
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

double cubed(std::int64_t n) { return std::pow(static_cast<double>(n), 3); }

}  // namespace

// ---- solve --------------------------------------------------------------------------------------

namespace {
struct SolveOp final : Op {
    SolveOp(const Tensor& a, const Tensor& x) : Op("solve", {a, x}) {}
    double flops() const override {
        const Shape& a = inputs()[0].shape;
        const auto columns = static_cast<double>(outputs()[0].shape.back());
        const auto n = static_cast<double>(a.back());
        return static_cast<double>(numel(a)) * n * 2 / 3 + 2 * n * n * columns;
    }
    Tensors forward(const Tensors& x) const override { return {solve(x[0], x[1])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor to_b = solve(transposed(saved(0)), grads[0]);
        Tensors result(2);
        if (needs(0)) {
            const Tensor to_a = neg(matmul(to_b, transposed(saved(1))));
            result[0] = sum_to(to_a, inputs()[0].shape);
        }
        if (needs(1)) result[1] = sum_to(to_b, inputs()[1].shape);
        return result;
    }
};
}  // namespace

Tensor solve(const Tensor& a, const Tensor& b) {
    check_square("solve", a);
    check_same_dtype("solve", a, b);
    require<ShapeError>(b.rank() > 0 && b.size(b.rank() == 1 ? 0 : -2) == a.size(-1),
                        "solve: {} x = {}: the right-hand side must have {} rows", a.shape(),
                        b.shape(), a.size(-1));
    if (b.rank() == 1) return squeeze(solve(a, unsqueeze(b, 1)), -1);
    if (is_narrow(a.dtype())) return in_f32(solve, a, b);
    const Shape batch = broadcast_shapes("solve: batch axes", leading_shape(a), leading_shape(b));
    const LuFactors factors = factorize(a);
    check_regular("solve", factors);
    Tensor x = views::expand(b, batch + Shape{b.size(-2), b.size(-1)}).clone();
    solve_in_place(factors, x);
    return record<SolveOp>({a, b}, x, a, x);
}

// ---- inverse ------------------------------------------------------------------------------------

namespace {
struct InverseOp final : Op {
    explicit InverseOp(const Tensor& y) : Op("inverse", {y}) {}
    double flops() const override { return 2 * cubed(inputs()[0].shape.back()); }
    Tensors forward(const Tensors& x) const override { return {inverse(x[0])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor y = transposed(saved(0));
        return {neg(matmul(y, matmul(grads[0], y)))};
    }
};
}  // namespace

Tensor inverse(const Tensor& a) {
    check_square("inverse", a);
    if (is_narrow(a.dtype())) return in_f32(inverse, a);
    const LuFactors factors = factorize(a);
    check_regular("inverse", factors);
    Tensor y = views::expand(eye(a.size(-1), a.dtype()), a.shape()).clone();
    solve_in_place(factors, y);
    return record<InverseOp>({a}, y, y);
}

// ---- det, logdet --------------------------------------------------------------------------------

namespace {

// y[...] = f(p, N) for each matrix, where p is the diagonal of U, negated where rows were
// exchanged, so its product is the determinant.
template <class F>
Tensor of_pivots(std::string_view op, const Tensor& a, F f) {
    const LuFactors factors = factorize(a);
    const std::int64_t n = a.size(-1);
    Tensor y(leading_shape(a), a.dtype());
    const std::int64_t* rows = factors.pivots.data<std::int64_t>();
    visit_floating(op, a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* lu = factors.lu.data<T>();
        std::vector<T> diagonal(static_cast<std::size_t>(n));
        T* const to = y.mutable_data<T>();
        for (std::int64_t i = 0; i < y.numel(); ++i, lu += n * n, rows += n) {
            for (std::int64_t k = 0; k < n; ++k) {
                const T pivot = lu[k * n + k];
                diagonal[static_cast<std::size_t>(k)] = rows[k] == k ? pivot : -pivot;
            }
            to[i] = f(static_cast<const T*>(diagonal.data()), n);
        }
    });
    return y;
}

Tensor as_matrix(const Tensor& y) { return unsqueeze(unsqueeze(y, -1), -1); }  // [..., 1, 1]

struct DetOp final : Op {
    DetOp(const Tensor& a, const Tensor& y) : Op("det", {a, y}) {}
    double flops() const override { return cubed(inputs()[0].shape.back()) * 2 / 3; }
    Tensors forward(const Tensors& x) const override { return {det(x[0])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor &a = saved(0), &y = saved(1);
        if (!is_recording()) return {mul(as_matrix(grads[0]), cofactors(a))};
        const bool regular = all(logical_and(ne(y, 0), isfinite(y))).item() != 0;
        if (!regular) return {mul(as_matrix(grads[0]), recorded_cofactors(a))};
        return {mul(as_matrix(mul(grads[0], y)), transposed(inverse(a)))};
    }
};

struct LogDetOp final : Op {
    explicit LogDetOp(const Tensor& a) : Op("logdet", {a}) {}
    double flops() const override { return cubed(inputs()[0].shape.back()) * 2 / 3; }
    Tensors forward(const Tensors& x) const override { return {logdet(x[0])}; }
    Tensors backward(const Tensors& grads) override {
        return {mul(as_matrix(grads[0]), transposed(inverse(saved(0))))};
    }
};

}  // namespace

Tensor det(const Tensor& a) {
    const FloatingPointGuard standard;
    check_square("det", a);
    if (is_narrow(a.dtype())) return in_f32(det, a);
    Tensor y = of_pivots("det", a, [](const auto* pivots, std::int64_t n) {
        // The exponent apart, because partial products may leave the range.
        std::decay_t<decltype(*pivots)> product = 1;
        std::int64_t exponent = 0;
        for (std::int64_t k = 0; k < n; ++k) {
            int of_pivot = 0, of_product = 0;
            product = std::frexp(product * std::frexp(pivots[k], &of_pivot), &of_product);
            if (product == 0 || !std::isfinite(product)) return product;
            exponent += of_pivot + of_product;
        }
        constexpr std::int64_t kMost = 1 << 14;  // beyond any type's range
        return std::ldexp(product, static_cast<int>(std::clamp(exponent, -kMost, kMost)));
    });
    return record<DetOp>({a}, y, a, y);
}

Tensor logdet(const Tensor& a) {
    const FloatingPointGuard standard;
    check_square("logdet", a);
    if (is_narrow(a.dtype())) return in_f32(logdet, a);
    Tensor y = of_pivots("logdet", a, [](const auto* pivots, std::int64_t n) {
        std::decay_t<decltype(*pivots)> sum = 0;
        bool negative = false;
        for (std::int64_t k = 0; k < n; ++k) {
            sum += std::log(std::abs(pivots[k]));
            negative ^= pivots[k] < 0;
        }
        return negative ? std::numeric_limits<decltype(sum)>::quiet_NaN() : sum;
    });
    return record<LogDetOp>({a}, y, a);
}

}  // namespace tapestry
