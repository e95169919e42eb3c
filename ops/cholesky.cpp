// Sums in double, row by row, so inner loops run along rows. Source: Golub and Van Loan, "Matrix
// Computations", 4.2.
#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/parallel.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/batch.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/linalg.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/staging.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tapestry {
namespace {

constexpr std::int64_t kCholeskyWork = 1 << 16;  // multiplications worth a thread

// The lower triangle of a [N, N] becomes L, row by row. Returns the first column whose pivot is not
// positive, or -1.
template <class T>
std::int64_t cholesky_one(T* a, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        T* const row = a + i * n;
        for (std::int64_t j = 0; j <= i; ++j) {
            const T* const other = a + j * n;
            double rest = row[j];
            for (std::int64_t k = 0; k < j; ++k) rest -= double{row[k]} * double{other[k]};
            if (j == i && !(rest > 0)) return i;
            row[j] = static_cast<T>(j == i ? std::sqrt(rest) : rest / double{other[j]});
        }
        std::fill(row + i + 1, row + n, T(0));
    }
    return -1;
}

// Halved first: sums may overflow.
Tensor symmetric(const Tensor& a) { return add(mul(a, 0.5), mul(transposed(a), 0.5)); }

struct CholeskyOp final : Op {
    explicit CholeskyOp(const Tensor& l) : Op("cholesky", {l}) {}
    double flops() const override {
        return std::pow(static_cast<double>(inputs()[0].shape.back()), 3) / 3;
    }
    Tensors forward(const Tensors& x) const override { return {cholesky(x[0])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& l = saved(0);
        const Tensor upper = transposed(l);
        // P(L^T g): the lower triangle with half of its diagonal.
        const Tensor product = matmul(upper, tril(grads[0]));
        const Tensor p = mul(add(tril(product), tril(product, -1)), 0.5);
        const Tensor left = solve(upper, p);  // L^-T P
        return {symmetric(transposed(solve(upper, transposed(left))))};
    }
};

}  // namespace

Tensor cholesky(const Tensor& a) {
    check_square("cholesky", a);
    if (is_narrow(a.dtype())) return in_f32(cholesky, a);
    Tensor l = dense(symmetric(a.detach())).clone();
    const Shape batch = leading_shape(a);
    const std::int64_t n = a.size(-1);
    visit_floating("cholesky", a.dtype(), [&](auto zero) {
        auto* const to = l.mutable_data<decltype(zero)>();
        std::vector<std::int64_t> flaws(static_cast<std::size_t>(numel(batch)), -1);
        parallel_for(numel(batch), kCholeskyWork / std::max<std::int64_t>(1, n * n * n),
                     [&](auto begin, auto end) {
                         for (std::int64_t i = begin; i < end; ++i) {
                             flaws[static_cast<std::size_t>(i)] = cholesky_one(to + i * n * n, n);
                         }
                     });
        for (std::int64_t i = 0; i < numel(batch); ++i) {
            const std::int64_t column = flaws[static_cast<std::size_t>(i)];
            if (column < 0) continue;
            const std::string which = batch.empty() ? "the matrix"
                                                    : fmt::format("matrix {} of the batch {}",
                                                                  unravel_index(i, batch), batch);
            fail("cholesky: {} is not positive definite: column {} has no positive pivot", which,
                 column);
        }
    });
    return record<CholeskyOp>({a}, l, l);
}

}  // namespace tapestry
