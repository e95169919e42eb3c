// Rows of the op table: systems, inverses, determinants. Random matrices may be nearly singular, so
// rows add 4 times a permutation matrix: pivoting must exchange rows, and the matrices are well
// conditioned.
#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/linalg.h>
#include <tapestry/ops/linalg.h>
#include <tapestry/ops/reduction.h>

#include <algorithm>
#include <functional>
#include <limits>

namespace tapestry::catalog {
namespace {

// Row i has the 4 in column (i + shift) % n.
std::int64_t place_of(std::int64_t row, std::int64_t shift, std::int64_t n) {
    return row * n + (row + shift) % n;
}

Tensor far(const Tensor& a, std::int64_t shift) {
    const std::int64_t n = a.size(-1);
    std::vector<double> added(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n; ++i) added[static_cast<std::size_t>(place_of(i, shift, n))] = 4;
    const Tensor matrix = tensor(added, {n, n});
    return add(a, a.dtype() == DType::f64 ? matrix : cast(matrix, a.dtype()));
}

template <class T>
reference::Array<T> far(reference::Array<T> a, std::int64_t shift) {
    const std::int64_t n = a.shape.back();
    for (std::int64_t at = 0; at < a.size(); at += n * n) {
        for (std::int64_t i = 0; i < n; ++i) a[at + place_of(i, shift, n)] += T(4);
    }
    return a;
}

Input matrices(const Shape& shape) { return {shape, -1, 1}; }

std::vector<Sample> square_samples() {
    return {
        {matrices({4, 4})}, {matrices({2, 3, 3, 3})}, {matrices({1, 1})}, {matrices({0, 3, 3})}};
}

Sample large() { return {matrices({70, 12, 12})}; }

template <class Op>
std::vector<ErrorCase> square_errors(const std::string& name, Op op) {
    return {{[=] {
                 op(ones({2, 3}));
             },
             name + ": needs square matrices, got [2, 3]"},
            {[=] { op(ones({3})); }, name + ": needs square matrices, got [3]"},
            {[=] {
                 op(zeros({2, 2}, DType::i64));
             },
             name + ": needs floating-point numbers, got i64"},
            {[=] { op(Tensor()); }, name + ": got an undefined tensor"}};
}

const Tensor& singular_second() {
    static const Tensor batch = tensor<float>({1, 0, 0, 1, 1, 2, 2, 4}, {2, 1, 2, 2});
    return batch;
}

// ---- solve --------------------------------------------------------------------------------------

OpCase solve_row(std::int64_t shift) {
    OpCase row = op_case(
        "solve", shift == 0 ? "" : "rows exchanged",
        [=](const Tensors& x) { return solve(far(x[0], shift), x[1]); },
        [=](const auto& x) { return reference::solve(far(x[0], shift), x[1]); },
        {{matrices({4, 4}), {{4, 3}}},
         {matrices({2, 3, 3}), {{2, 3, 2}}},
         {matrices({3, 3}), {{2, 3, 1}}},        // one matrix for a batch
         {matrices({2, 1, 3, 3}), {{2, 3, 2}}},  // batches broadcast
         {matrices({1, 1}), {{1, 1}}},
         {matrices({0, 3, 3}), {{0, 3, 2}}},
         {matrices({2, 2}), {{2, 0}}}});
    row.large = {matrices({70, 12, 12}), {{70, 12, 5}}};
    return row;
}

OpCase solve_vector_row() {
    return op_case(
        "solve", "one vector", [](const Tensors& x) { return solve(far(x[0], 1), x[1]); },
        [](const auto& x) {
            auto column = x[1];
            column.shape.push_back(1);
            auto y = reference::solve(far(x[0], 1), column);
            y.shape.erase(y.shape.rank() - 1);
            return y;
        },
        {{matrices({4, 4}), {{4}}},
         {matrices({2, 3, 3}), {{3}}},
         {matrices({1, 1}), {{1}}},
         {matrices({0, 2, 2}), {{2}}}});
}

std::vector<ErrorCase> solve_errors() {
    std::vector<ErrorCase> errors = square_errors("solve", [](const Tensor& a) {
        solve(a, ones({3, 1}));
    });
    const auto add_error = [&errors](const Tensor& a, const Tensor& b, const char* message) {
        errors.push_back({[=] { solve(a, b); }, message});
    };
    add_error(ones({3, 3}), ones({2, 1}),
              "solve: [3, 3] x = [2, 1]: the right-hand side must have 3 rows");
    add_error(ones({3, 3}), ones({2}),
              "solve: [3, 3] x = [2]: the right-hand side must have 3 rows");
    add_error(ones({3, 3}), ones({}), "solve: [3, 3] x = []: the right-hand side must have 3 rows");
    add_error(ones({2, 3, 3}), ones({4, 3, 1}),
              "solve: batch axes: shapes do not broadcast: [2] and [4]");
    add_error(ones({3, 3}), ones({3}, DType::f64), "solve: element types differ: f32 and f64");
    add_error(ones({3, 3}), ones({3}), "solve: the matrix is singular: column 1 has no pivot");
    add_error(singular_second(), ones({2}),
              "solve: matrix [1, 0] of the batch [2, 1] is singular: column 1 has no pivot");
    return errors;
}

// ---- inverse, det, logdet -----------------------------------------------------------------------

OpCase inverse_row() {
    OpCase row = op_case(
        "inverse", "", [](const Tensors& x) { return inverse(far(x[0], 1)); },
        [](const auto& x) {
            auto identity = x[0];
            const std::int64_t n = identity.shape.back();
            for (std::int64_t i = 0; i < identity.size(); ++i) {
                identity[i] = i / n % n == i % n ? 1.0 : 0.0;
            }
            return reference::solve(far(x[0], 1), identity);
        },
        square_samples());
    row.large = large();
    row.errors = square_errors("inverse", [](const Tensor& a) { inverse(a); });
    row.errors.push_back({[] {
                              inverse(zeros({2, 2}));
                          },
                          "inverse: the matrix is singular: column 0 has no pivot"});
    row.errors.push_back({[] { inverse(singular_second()); },
                          "inverse: matrix [1, 0] of the batch [2, 1] is singular"});
    return row;
}

OpCase det_row() {
    OpCase row = op_case(
        "det", "", [](const Tensors& x) { return det(far(x[0], 1)); },
        [](const auto& x) { return reference::det(far(x[0], 1)); }, square_samples());
    row.large = large();
    row.errors = square_errors("det", [](const Tensor& a) { det(a); });
    return row;
}

OpCase logdet_row() {
    OpCase row = op_case(
        "logdet", "", [](const Tensors& x) { return logdet(far(x[0], 0)); },
        [](const auto& x) {
            return reference::map(reference::det(far(x[0], 0)), [](auto value) {
                using std::log;
                return log(value);
            });
        },
        square_samples());
    row.large = large();
    row.errors = square_errors("logdet", [](const Tensor& a) { logdet(a); });
    return row;
}

// Of 4 plus the symmetric part of a small matrix, which is positive definite.
OpCase cholesky_row() {
    OpCase row = op_case(
        "cholesky", "", [](const Tensors& x) { return cholesky(far(mul(x[0], 0.3), 0)); },
        [](const auto& x) {
            using T = std::decay_t<decltype(x[0][0])>;
            return reference::cholesky(
                far(reference::map(x[0], [](T value) { return T(0.3) * value; }), 0));
        },
        square_samples());
    row.large = large();
    row.errors = square_errors("cholesky", [](const Tensor& a) { cholesky(a); });
    row.errors.push_back({[] {
                              cholesky(zeros({2, 2}));
                          },
                          "cholesky: the matrix is not positive definite: column 0 has no positive "
                          "pivot"});
    row.errors.push_back({[] { cholesky(singular_second()); },
                          "cholesky: matrix [1, 0] of the batch [2, 1] is not positive definite: "
                          "column 1 has no positive pivot"});
    return row;
}

// ---- qr, eigh, svd ------------------------------------------------------------------------------

// 3 (i + 1) on the diagonal of 0.6 times a matrix: columns are independent, and eigenvalues and
// singular values apart.
Tensor apart(const Tensor& a) {
    const std::int64_t m = a.size(-2), n = a.size(-1);
    std::vector<double> added(static_cast<std::size_t>(m * n));
    for (std::int64_t i = 0; i < std::min(m, n); ++i) {
        added[static_cast<std::size_t>(i * n + i)] = 3.0 * static_cast<double>(i + 1);
    }
    const Tensor matrix = cast(tensor(added, {m, n}), a.dtype());
    return add(mul(a, 0.6), matrix);
}

template <class T>
reference::Array<T> apart(const reference::Array<T>& a) {
    reference::Array<T> y = reference::map(a, [](const T& x) { return T(0.6) * x; });
    const std::int64_t m = a.shape[a.shape.rank() - 2], n = a.shape.back();
    for (std::int64_t at = 0; at < y.size(); at += m * n) {
        for (std::int64_t i = 0; i < std::min(m, n); ++i) {
            y[at + i * n + i] += T(3.0 * static_cast<double>(i + 1));
        }
    }
    return y;
}

std::vector<Sample> any_samples() {
    return {{matrices({4, 4})},
            {matrices({2, 3, 5, 3})},
            {matrices({2, 2, 4})},
            {matrices({1, 1})},
            {matrices({0, 3, 2})}};
}

std::vector<ErrorCase> matrix_errors(const std::string& name,
                                     const std::function<void(const Tensor&)>& op) {
    return {{[=] { op(ones({3})); }, name + ": needs matrices [..., M, N], got [3]"},
            {[=] {
                 op(zeros({2, 2}, DType::i64));
             },
             name + ": needs floating-point numbers, got i64"},
            {[=] { op(Tensor()); }, name + ": got an undefined tensor"}};
}

// backward() of the sum of one of the results.
std::function<void()> gradient_of(const Tensor& value,
                                  const std::function<Tensor(const Tensor&)>& f) {
    return [=] {
        Tensor x = value.clone();
        x.set_requires_grad();
        Tape tape;
        tape.backward(sum(f(x)));
    };
}

ErrorCase not_finite(const std::string& name, const std::function<void(const Tensor&)>& op) {
    return {[=] {
                op(full({2, 2}, std::numeric_limits<double>::quiet_NaN()));
            },
            name + ": the matrix has numbers that are not finite"};
}

OpCase qr_row() {
    OpCase row = op_case(
        "qr", "",
        [](const Tensors& x) {
            const QrFactors f = qr(apart(x[0]));
            return Tensors{f.q, f.r};
        },
        [](const auto& x) { return reference::qr(apart(x[0])); }, any_samples());
    row.large = {matrices({70, 12, 8})};
    row.no_half_gradient = "q is rounded before the rule multiplies it by r and its inverse";
    row.errors = matrix_errors("qr", [](const Tensor& a) { qr(a); });
    row.errors.push_back({gradient_of(ones({3, 2}), [](const Tensor& a) { return qr(a).q; }),
                          "qr: the columns are linearly dependent, so there is no gradient"});
    return row;
}

OpCase eigh_row() {
    OpCase row = op_case(
        "eigh", "",
        [](const Tensors& x) {
            const EighFactors f = eigh(apart(x[0]));
            return Tensors{f.values, f.vectors};
        },
        [](const auto& x) {
            auto a = apart(x[0]);
            const std::int64_t n = a.shape.back();
            for (std::int64_t at = 0; at < a.size(); at += n * n) {
                for (std::int64_t i = 0; i < n; ++i) {
                    for (std::int64_t j = 0; j < i; ++j) {
                        const auto mean = (a[at + i * n + j] + a[at + j * n + i]) / 2.0;
                        a[at + i * n + j] = mean;
                        a[at + j * n + i] = mean;
                    }
                }
            }
            return reference::eigh(a);
        },
        square_samples());
    row.large = large();
    row.no_half_gradient = "gaps between rounded eigenvalues have few digits";
    row.errors = square_errors("eigh", [](const Tensor& a) { eigh(a); });
    row.errors.push_back(not_finite("eigh", [](const Tensor& a) { eigh(a); }));
    row.errors.push_back({gradient_of(eye(2), [](const Tensor& a) { return eigh(a).vectors; }),
                          "eigh: two eigenvalues are equal, so their vectors have no gradient"});
    return row;
}

OpCase svd_row() {
    OpCase row = op_case(
        "svd", "",
        [](const Tensors& x) {
            const SvdFactors f = svd(apart(x[0]));
            return Tensors{f.u, f.s, f.vh};
        },
        [](const auto& x) { return reference::svd(apart(x[0])); }, any_samples());
    row.large = {matrices({70, 12, 8})};
    row.no_half_gradient = "gaps between rounded singular values have few digits";
    row.tolerance_f64 = 1e-11;  // of the definition, which squares the matrix
    row.errors = matrix_errors("svd", [](const Tensor& a) { svd(a); });
    row.errors.push_back(not_finite("svd", [](const Tensor& a) { svd(a); }));
    row.errors.push_back({gradient_of(eye(2), [](const Tensor& a) { return svd(a).u; }),
                          "svd: two singular values are equal, so their vectors have no gradient"});
    row.errors.push_back({gradient_of(tensor<float>({{1, 0}, {0, 0}, {0, 0}}),
                                      [](const Tensor& a) { return svd(a).u; }),
                          "svd: a singular value is 0, so its vectors have no gradient"});
    return row;
}

}  // namespace

std::vector<OpCase> linalg_cases() {
    OpCase straight = solve_row(0);
    straight.errors = solve_errors();
    return {straight,     solve_row(1),   solve_vector_row(), inverse_row(), det_row(),
            logdet_row(), cholesky_row(), qr_row(),           eigh_row(),    svd_row()};
}

}  // namespace tapestry::catalog
