// qr, eigh and svd on the tape: checks, the factors (orthogonal_factors.cpp), and the gradients in
// recordable ops.
#include <tapestry/ops/linalg.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/parallel.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/batch.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/orthogonal_factors.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <vector>

namespace tapestry {
namespace {

void check_matrices(std::string_view op, const Tensor& a) {
    check_floating(op, a);
    require<ShapeError>(a.rank() >= 2, "{}: needs matrices [..., M, N], got {}", op, a.shape());
}

void check_finite(std::string_view op, const Tensor& a) {
    require(isfinite(a.detach()).all().item<bool>(),
            "{}: the matrix has numbers that are not finite", op);
}

// Calls f(i, matrix i of a in double) for each of a batch; f writes to its own part of the results.
template <class F>
void for_each_matrix(const Tensor& a, const F& f) {
    const std::int64_t m = a.size(-2), n = a.size(-1);
    const Tensor matrices = dense(a);
    constexpr std::int64_t kWork = 1 << 14;  // multiplications worth a thread
    visit_floating("matrices", a.dtype(), [&](auto zero) {
        const auto* const from = matrices.data<decltype(zero)>();
        parallel_for(numel(leading_shape(a)), kWork / std::max<std::int64_t>(1, m * n * n),
                     [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i) {
                             const auto* const at = from + i * m * n;
                             f(i, std::vector<double>(at, at + m * n));
                         }
                     });
    });
}

// Result i of a batch, converted to the dtype of y.
void put(Tensor& y, std::int64_t i, const std::vector<double>& values) {
    visit_floating("matrices", y.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* const to = y.mutable_data<T>() + i * static_cast<std::int64_t>(values.size());
        std::transform(values.begin(), values.end(), to,
                       [](double v) { return static_cast<T>(v); });
    });
}

Tensor halves(const Tensor& a) { return mul(add(a, transposed(a)), 0.5); }

// x [..., M, K] with column k multiplied by s[..., k]; or row k.
Tensor columns_times(const Tensor& x, const Tensor& s) { return mul(x, unsqueeze(s, -2)); }
Tensor rows_times(const Tensor& s, const Tensor& x) { return mul(unsqueeze(s, -1), x); }
Tensor diagonal_matrix(const Tensor& s) { return rows_times(s, eye(s.size(-1), s.dtype())); }

// 1 / (w_j - w_i) for i != j, and 0 on the diagonal. Throws if two are equal.
Tensor inverse_gaps(const char* op, const char* of, const Tensor& w) {
    const std::int64_t n = w.size(-1);
    const Tensor gaps = sub(unsqueeze(w, -2), unsqueeze(w, -1));
    const Tensor one = eye(n, w.dtype());
    const bool distinct = ne(add(gaps.detach(), one), 0).all().item<bool>();
    require(distinct, "{}: two {} are equal, so their vectors have no gradient", op, of);
    return sub(reciprocal(add(gaps, one)), one);
}

// ---- qr -----------------------------------------------------------------------------------------

struct QrOp final : Op {
    QrOp(const Tensor& q, const Tensor& r) : Op("qr", {q, r}) {}
    Tensors forward(const Tensors& x) const override {
        const QrFactors f = qr(x[0]);
        return {f.q, f.r};
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor &q = saved(0), &r = saved(1), &gq = grads[0], &gr = grads[1];
        const bool full_rank = ne(diagonal(r.detach(), 0, -2, -1), 0).all().item<bool>();
        require(full_rank, "qr: the columns are linearly dependent, so there is no gradient");
        Tensor inner;  // r g_r^T - g_q^T q
        if (gr.defined()) inner = matmul(r, transposed(gr));
        if (gq.defined()) {
            const Tensor minus = matmul(transposed(gq), q);
            inner = inner.defined() ? sub(inner, minus) : neg(minus);
        }
        const Tensor mirrored = add(tril(inner), transposed(tril(inner, -1)));
        Tensor left = matmul(q, mirrored);
        if (gq.defined()) left = add(left, gq);
        return {transposed(solve(r, transposed(left)))};  // left r^-T
    }
};

QrFactors tall_qr(const Tensor& a) {
    const std::int64_t m = a.size(-2), n = a.size(-1);
    Tensors ys{Tensor(a.shape(), a.dtype()), Tensor(leading_shape(a) + Shape{n, n}, a.dtype())};
    for_each_matrix(a, [&](std::int64_t i, std::vector<double> matrix) {
        std::vector<double> r;
        factors::qr(matrix, r, m, n);
        put(ys[0], i, matrix);
        put(ys[1], i, r);
    });
    record<QrOp>({a}, ys, ys[0], ys[1]);
    return {ys[0], ys[1]};
}

// ---- eigh ---------------------------------------------------------------------------------------

struct EighOp final : Op {
    EighOp(const Tensor& values, const Tensor& vectors) : Op("eigh", {values, vectors}) {}
    Tensors forward(const Tensors& x) const override {
        const EighFactors f = eigh(x[0]);
        return {f.values, f.vectors};
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor &w = saved(0), &v = saved(1);
        Tensor inner;
        if (grads[1].defined()) {
            inner = mul(inverse_gaps("eigh", "eigenvalues", w), matmul(transposed(v), grads[1]));
        }
        if (grads[0].defined()) {
            const Tensor of_values = diagonal_matrix(grads[0]);
            inner = inner.defined() ? add(inner, of_values) : of_values;
        }
        return {halves(matmul(matmul(v, inner), transposed(v)))};
    }
};

// ---- svd ----------------------------------------------------------------------------------------

struct SvdOp final : Op {
    SvdOp(const Tensor& u, const Tensor& s, const Tensor& vh) : Op("svd", {u, s, vh}) {}
    Tensors forward(const Tensors& x) const override {
        const SvdFactors f = svd(x[0]);
        return {f.u, f.s, f.vh};
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor &u = saved(0), &s = saved(1), &vh = saved(2);
        Tensor inner = grads[1].defined()
                           ? diagonal_matrix(grads[1])
                           : zeros(leading_shape(u) + Shape{s.size(-1), s.size(-1)}, s.dtype());
        Tensor outside;  // what g_u and g_v change beyond the spaces of u and v
        if (grads[0].defined() || grads[2].defined()) {
            // 1 / (s_j^2 - s_i^2) times s_j or s_i, without a square, which leaves f32's range.
            const Tensor gaps = inverse_gaps("svd", "singular values", s);
            const Tensor sums = add(add(unsqueeze(s, -2), unsqueeze(s, -1)),
                                    eye(s.size(-1), s.dtype()));  // not 0 on the diagonal
            const Tensor of_columns = mul(gaps, div(unsqueeze(s, -2), sums));
            const Tensor of_rows = mul(gaps, div(unsqueeze(s, -1), sums));
            const auto skew = [](const Tensor& x) { return sub(x, transposed(x)); };
            if (grads[0].defined()) {
                const Tensor along = matmul(transposed(u), grads[0]);
                inner = add(inner, mul(skew(along), of_columns));
                if (u.size(-2) > s.size(-1)) {
                    outside =
                        matmul(columns_times(sub(grads[0], matmul(u, along)), inverse_of(s)), vh);
                }
            }
            if (grads[2].defined()) {
                const Tensor along = matmul(vh, transposed(grads[2]));
                inner = add(inner, mul(of_rows, skew(along)));
                if (vh.size(-1) > s.size(-1)) {
                    const Tensor rest = sub(grads[2], matmul(transposed(along), vh));
                    const Tensor part = matmul(u, rows_times(inverse_of(s), rest));
                    outside = outside.defined() ? add(outside, part) : part;
                }
            }
        }
        const Tensor dx = matmul(matmul(u, inner), vh);
        return {outside.defined() ? add(dx, outside) : dx};
    }

private:
    static Tensor inverse_of(const Tensor& s) {
        require(gt(s.detach(), 0).all().item<bool>(),
                "svd: a singular value is 0, so its vectors have no gradient");
        return reciprocal(s);
    }
};

}  // namespace

// ---- public functions ---------------------------------------------------------------------------

QrFactors qr(const Tensor& a) {
    check_matrices("qr", a);
    if (is_narrow(a.dtype())) {
        const QrFactors wide = qr(to(a, DType::f32));
        return {to(wide.q, a.dtype()), to(wide.r, a.dtype())};
    }
    check_finite("qr", a);
    const std::int64_t m = a.size(-2), n = a.size(-1);
    if (m >= n) return tall_qr(a);
    const QrFactors first = tall_qr(slice(a, -1, 0, m));
    return {first.q, concat({first.r, matmul(transposed(first.q), slice(a, -1, m, n))}, -1)};
}

EighFactors eigh(const Tensor& a) {
    check_square("eigh", a);
    if (is_narrow(a.dtype())) {
        const EighFactors wide = eigh(to(a, DType::f32));
        return {to(wide.values, a.dtype()), to(wide.vectors, a.dtype())};
    }
    check_finite("eigh", a);
    const std::int64_t n = a.size(-1);
    Tensors ys{Tensor(leading_shape(a) + Shape{n}, a.dtype()), Tensor(a.shape(), a.dtype())};
    for_each_matrix(a, [&](std::int64_t i, std::vector<double> matrix) {
        std::vector<double> values, vectors;
        factors::eigh(matrix, values, vectors, n);
        put(ys[0], i, values);
        put(ys[1], i, vectors);
    });
    record<EighOp>({a}, ys, ys[0], ys[1]);
    return {ys[0], ys[1]};
}

SvdFactors svd(const Tensor& a) {
    check_matrices("svd", a);
    if (is_narrow(a.dtype())) {
        const SvdFactors wide = svd(to(a, DType::f32));
        return {to(wide.u, a.dtype()), to(wide.s, a.dtype()), to(wide.vh, a.dtype())};
    }
    check_finite("svd", a);
    const std::int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
    Tensors ys{Tensor(leading_shape(a) + Shape{m, k}, a.dtype()),
               Tensor(leading_shape(a) + Shape{k}, a.dtype()),
               Tensor(leading_shape(a) + Shape{k, n}, a.dtype())};
    for_each_matrix(a, [&](std::int64_t i, const std::vector<double>& matrix) {
        std::vector<double> u, s, vh;
        factors::svd(matrix, u, s, vh, m, n);
        put(ys[0], i, u);
        put(ys[1], i, s);
        put(ys[2], i, vh);
    });
    record<SvdOp>({a}, ys, ys[0], ys[1], ys[2]);
    return {ys[0], ys[1], ys[2]};
}

}  // namespace tapestry
