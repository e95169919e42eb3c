// Rows of the op table: systems, inverses, determinants. Random matrices may be nearly singular, so
// rows add 4 times a permutation matrix: pivoting must exchange rows, and the matrices are well
// conditioned.
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/linalg.h>
#include <tapestry/ops/linalg.h>

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

}  // namespace

std::vector<OpCase> linalg_cases() {
    OpCase straight = solve_row(0);
    straight.errors = solve_errors();
    return {straight,  solve_row(1), solve_vector_row(), inverse_row(),
            det_row(), logdet_row(), cholesky_row()};
}

}  // namespace tapestry::catalog
