#include <tapestry/ops/linalg.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/batch.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/in_f32.h>
#include <tapestry/ops/lu.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

namespace tapestry {
namespace {

void check_square(std::string_view op, const Tensor& a) {
    check_floating(op, a);
    require<ShapeError>(a.rank() >= 2 && a.size(-1) == a.size(-2),
                        "{}: {} holds no square matrices", op, a.shape());
}

Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }

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
                        "solve: {} x = {}: the right-hand side has not {} rows", a.shape(),
                        b.shape(), a.size(-1));
    if (b.rank() == 1) return squeeze(solve(a, unsqueeze(b, 1)), -1);
    if (is_half(a.dtype())) return in_f32(solve, a, b);
    Shape shape = broadcast_shapes("solve: batch axes", leading_shape(a), leading_shape(b));
    shape.push_back(b.size(-2));
    shape.push_back(b.size(-1));
    const LuFactors factors = factorize(a);
    check_regular("solve", factors);
    Tensor x = views::expand(b, shape).clone();
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
    if (is_half(a.dtype())) return in_f32(inverse, a);
    const LuFactors factors = factorize(a);
    check_regular("inverse", factors);
    Tensor y = views::expand(eye(a.size(-1), a.dtype()), a.shape()).clone();
    solve_in_place(factors, y);
    return record<InverseOp>({a}, y, y);
}

// ---- det, logdet -----------------------------------------------------------------------------

namespace {

// y[...] = f(p, N) of each matrix: p is the diagonal of U, turned where rows were exchanged, so
// that its product is the determinant.
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

struct DetOp final : Op {
    DetOp(const Tensor& a, const Tensor& y) : Op("det", {a, y}) {}
    double flops() const override { return cubed(inputs()[0].shape.back()) * 2 / 3; }
    Tensors forward(const Tensors& x) const override { return {det(x[0])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor scale = unsqueeze(unsqueeze(mul(grads[0], saved(1)), -1), -1);  // [..., 1, 1]
        return {mul(scale, transposed(inverse(saved(0))))};
    }
};

struct LogDetOp final : Op {
    explicit LogDetOp(const Tensor& a) : Op("logdet", {a}) {}
    double flops() const override { return cubed(inputs()[0].shape.back()) * 2 / 3; }
    Tensors forward(const Tensors& x) const override { return {logdet(x[0])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor g = unsqueeze(unsqueeze(grads[0], -1), -1);  // [..., 1, 1]
        return {mul(g, transposed(inverse(saved(0))))};
    }
};

}  // namespace

Tensor det(const Tensor& a) {
    check_square("det", a);
    if (is_half(a.dtype())) return in_f32(det, a);
    Tensor y = of_pivots("det", a, [](const auto* pivots, std::int64_t n) {
        std::decay_t<decltype(*pivots)> product = 1;
        for (std::int64_t k = 0; k < n; ++k) product *= pivots[k];
        return product;
    });
    return record<DetOp>({a}, y, a, y);
}

Tensor logdet(const Tensor& a) {
    check_square("logdet", a);
    if (is_half(a.dtype())) return in_f32(logdet, a);
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
