// Systems of equations, inverses and determinants: what elimination gives is exact for a matrix
// that differs by 3 n u times the size of its rows (Higham 2002, "Accuracy and Stability of
// Numerical Algorithms", theorems 9.3 to 9.5), for matrices of any condition, in long double.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/linalg.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/ops/range_rows.h>
#include <tapestry/tests/settings.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

using namespace tapestry;
using test::Exact;

namespace {

using Row = std::vector<Exact>;
using Matrix = std::vector<Row>;

struct Kind {
    const char* name;
    std::function<double(int i, int j, int n, Generator& generator)> element;
};

// Regular, graded by rows and by columns, badly conditioned, nearly singular, large and small.
std::vector<Kind> kinds() {
    const auto drawn = [](Generator& g) { return 2 * g.uniform() - 1; };
    return {
        {"random", [=](int, int, int, Generator& g) { return drawn(g); }},
        {"graded rows",
         [=](int i, int, int n, Generator& g) { return std::ldexp(drawn(g), 12 * i / n); }},
        {"graded columns",
         [=](int, int j, int n, Generator& g) { return std::ldexp(drawn(g), -12 * j / n); }},
        {"Hilbert", [](int i, int j, int, Generator&) { return 1.0 / (i + j + 1); }},
        {"nearly singular",
         [=](int i, int j, int n, Generator& g) {
             return 1 + std::sin(i + 1) * std::cos(j + 1) + (i == j ? 1e-3 * n : 1e-3) * drawn(g);
         }},
        {"large", [=](int, int, int, Generator& g) { return std::ldexp(drawn(g), 10); }},
        {"small", [=](int, int, int, Generator& g) { return std::ldexp(drawn(g), -10); }},
    };
}

Matrix matrix_of(const Tensor& x) {
    const auto values = x.to_vector<double>();
    Matrix rows(static_cast<std::size_t>(x.size(0)));
    const auto width = static_cast<std::size_t>(x.size(1));
    for (std::size_t i = 0; i < values.size(); ++i) rows[i / width].push_back(values[i]);
    return rows;
}

Exact norm_of(const Matrix& a) {  // largest sum of absolute values of a row
    Exact most = 0;
    for (const Row& row : a) {
        Exact sum = 0;
        for (const Exact x : row) sum += std::abs(x);
        most = std::max(most, sum);
    }
    return most;
}

Matrix residual(const Matrix& a, const Matrix& x, Matrix b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t k = 0; k < x.size(); ++k) {
            for (std::size_t j = 0; j < b[i].size(); ++j) b[i][j] -= a[i][k] * x[k][j];
        }
    }
    return b;
}

// By elimination with the largest pivot of all, in long double.
Exact det_of(Matrix a) {
    Exact det = 1;
    const std::size_t n = a.size();
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t row = k, column = k;
        for (std::size_t i = k; i < n; ++i) {
            for (std::size_t j = k; j < n; ++j) {
                if (std::abs(a[i][j]) > std::abs(a[row][column])) row = i, column = j;
            }
        }
        if (a[row][column] == 0) return 0;
        if (row != k) det = -det;
        if (column != k) det = -det;
        std::swap(a[row], a[k]);
        for (Row& one : a) std::swap(one[column], one[k]);
        det *= a[k][k];
        for (std::size_t i = k + 1; i < n; ++i) {
            const Exact factor = a[i][k] / a[k][k];
            for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
        }
    }
    return det;
}

// Sum of the absolute values of all cofactors.
Exact cofactors_of(const Matrix& a) {
    Exact sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < a.size(); ++j) {
            Matrix minor = a;
            minor.erase(minor.begin() + static_cast<std::ptrdiff_t>(i));
            for (Row& row : minor) row.erase(row.begin() + static_cast<std::ptrdiff_t>(j));
            sum += std::abs(det_of(minor));
        }
    }
    return sum;
}

struct Worst {
    double solve = 0, inverse = 0, det = 0, logdet = 0;
};

// Errors as multiples of the bounds in docs/ops.md.
Worst errors(const Tensor& a, const Tensor& b, DType dtype) {
    const Exact u = dtype == DType::f64 ? 0x1p-53L : 0x1p-24L;
    const auto n = static_cast<std::size_t>(a.size(0));
    const Exact share = 3 * static_cast<Exact>(n) * u;  // of the matrix
    const Matrix exact = matrix_of(a);
    Worst worst;
    const Matrix x = matrix_of(solve(a, b));
    worst.solve = static_cast<double>(norm_of(residual(exact, x, matrix_of(b))) /
                                      (share * norm_of(exact) * norm_of(x)));
    const Matrix y = matrix_of(inverse(a));
    worst.inverse = static_cast<double>(norm_of(residual(exact, y, matrix_of(eye(a.size(0))))) /
                                        (share * norm_of(exact) * norm_of(y)));
    const Exact wanted = det_of(exact);
    const Exact moved = share * norm_of(exact) * cofactors_of(exact);
    worst.det = static_cast<double>(std::abs(det(a).item() - wanted) / moved);
    if (wanted > moved) {
        const Exact log = std::log(wanted);
        const Exact bound = moved / (wanted - moved) + static_cast<Exact>(n) * u * std::abs(log);
        worst.logdet = static_cast<double>(std::abs(logdet(a).item() - log) / bound);
    }
    return worst;
}

}  // namespace

TEST_CASE("elimination bounds: Cholesky's factor is that of a matrix within 3 n u") {
    if (!test::kHasExact) return test::skip("no long double here is better than a double");
    for (const DType dtype : {DType::f32, DType::f64}) {
        for (const Kind& kind : kinds()) {
            for (const int n : {1, 2, 3, 5, 8, 12, 40}) {
                Generator generator(static_cast<std::uint64_t>(n));
                std::vector<double> values;
                for (int i = 0; i < n * n; ++i)
                    values.push_back(kind.element(i / n, i % n, n, generator));
                const Tensor b = tensor(values, {n, n});
                // b b^T and a little, symmetric to the last bit.
                Tensor a = matmul(b, transpose(b, 0, 1));
                a = to(a + eye(n, DType::f64) * (1e-3 * max(abs(a)).item()), dtype);
                a = tril(a) + transpose(tril(a, -1), 0, 1);
                const Matrix l = matrix_of(cholesky(a));
                const Matrix upper = matrix_of(transpose(cholesky(a), 0, 1).clone());
                const Exact u = dtype == DType::f64 ? 0x1p-53L : 0x1p-24L;
                const Exact bound = 3 * static_cast<Exact>(n) * u * norm_of(matrix_of(a));
                CAPTURE(kind.name);
                CAPTURE(n);
                CHECK_LE(static_cast<double>(norm_of(residual(l, upper, matrix_of(a))) / bound), 1);
            }
        }
    }
    CHECK_THROWS_AS(cholesky(tensor<double>({{1, 2}, {2, 1}})), ValueError);
    CHECK_THROWS_AS(cholesky(tensor<double>({{std::nan(""), 0}, {0, 1}})), ValueError);
}

TEST_CASE("elimination bounds: orthogonal factors within 10 n u") {
    if (!test::kHasExact) return test::skip("no long double here is better than a double");
    for (const DType dtype : {DType::f32, DType::f64}) {
        for (const Kind& kind : kinds()) {
            for (const int n : {1, 2, 3, 8, 40}) {
                Generator generator(static_cast<std::uint64_t>(n));
                const int m = n % 2 == 0 ? n + n / 2 : n;  // square and tall ones
                std::vector<double> values;
                for (int i = 0; i < m * n; ++i)
                    values.push_back(kind.element(i / n, i % n, m, generator));
                const Tensor a = to(tensor(values, {m, n}), dtype);
                const Exact u = dtype == DType::f64 ? 0x1p-53L : 0x1p-24L;
                CAPTURE(kind.name);
                CAPTURE(n);
                // |x y - z| in units of 10 m u |z|
                const auto check = [&](const Tensor& x, const Tensor& y, const Tensor& z) {
                    const Matrix wanted = matrix_of(z.clone());
                    const Exact bound = 10 * static_cast<Exact>(m) * u * norm_of(wanted);
                    const Exact off =
                        norm_of(residual(matrix_of(x.clone()), matrix_of(y.clone()), wanted));
                    CHECK_LE(static_cast<double>(off / bound), 1);
                };
                const auto check_orthonormal = [&](const Tensor& x) {
                    check(x.T(), x, eye(x.size(1), dtype));
                };
                const QrFactors f = qr(a);
                check(f.q, f.r, a);
                check_orthonormal(f.q);
                const SvdFactors s = svd(a);
                check(s.u * s.s, s.vh, a);
                check_orthonormal(s.u);
                check_orthonormal(s.vh.T());
                const Tensor symmetric = matmul(a.T(), a);
                const Tensor both = (symmetric + symmetric.T()) * 0.5;
                const EighFactors e = eigh(both);
                check(e.vectors * e.values, e.vectors.T(), both);
                check_orthonormal(e.vectors);
            }
        }
    }
}

TEST_CASE("orthogonal factors: the order, signs, and matrices without full rank") {
    const EighFactors e = eigh(tensor<double>({{2, 1}, {1, 2}}));
    CHECK(allclose(e.values, tensor<double>({1, 3}), 1e-15));
    const double root = std::sqrt(0.5);
    CHECK(e.vectors.at({1, 1}) == doctest::Approx(root));
    const SvdFactors zero = svd(zeros({3, 2}, DType::f64));
    CHECK(allclose(matmul(zero.u.T(), zero.u), eye(2, DType::f64)));
    CHECK_EQ(zero.s.sum().item(), 0);
    const Tensor rank_one = tensor<double>({{1, 2}, {2, 4}, {3, 6}});
    const SvdFactors one = svd(rank_one);
    CHECK(one.s.at({0}) == doctest::Approx(std::sqrt(70.0)));
    CHECK(std::abs(one.s.at({1})) < 1e-14);
    CHECK(allclose(matmul(one.u.T(), one.u), eye(2, DType::f64)));
    CHECK(allclose(matmul(one.u * one.s, one.vh), rank_one));
    CHECK(qr(rank_one).r.at({0, 0}) == doctest::Approx(std::sqrt(14.0)));
    for (const double scale : {1e200, 1e-200}) {  // whose squares leave the range
        CHECK(allclose(svd(rank_one * scale).s / scale, one.s));
        CHECK(allclose(eigh(tensor<double>({{2, 1}, {1, 2}}) * scale).values / scale, e.values));
        CHECK(allclose(qr(rank_one * scale).r / scale, qr(rank_one).r));
    }
    // What gives the values alone has a gradient, whether they are distinct or not.
    Tensor x = eye(3, DType::f64);
    x.set_requires_grad();
    Tape tape;
    tape.backward(sum(svd(x).s) + sum(eigh(x).values));
    CHECK(allclose(x.grad(), eye(3, DType::f64) * 2));
}

TEST_CASE("elimination bounds: exact for a matrix that differs by 3 n u") {
    if (!test::kHasExact) return test::skip("no long double here is better than a double");
    const test::SettingsGuard restored_at_the_end;
    for (const Isa isa : available_isas()) {
        set_isa(isa);
        for (const DType dtype : {DType::f32, DType::f64}) {
            for (const Kind& kind : kinds()) {
                for (const int n : {1, 2, 3, 5, 8, 12}) {
                    Generator generator(static_cast<std::uint64_t>(n));
                    std::vector<double> values;
                    for (int i = 0; i < n * n; ++i)
                        values.push_back(kind.element(i / n, i % n, n, generator));
                    const Tensor a = to(tensor(values, {n, n}), dtype);
                    const Worst worst = errors(a, randn({n, 2}, generator, dtype), dtype);
                    if (std::getenv("TAPESTRY_SWEEP") != nullptr) {
                        std::printf(
                            "%-16s %2d %s %-9s solve %.3g inverse %.3g det %.3g logdet %.3g\n",
                            kind.name, n, std::string(name_of(dtype)).c_str(),
                            std::string(name_of(isa)).c_str(), worst.solve, worst.inverse,
                            worst.det, worst.logdet);
                    }
                    CAPTURE(kind.name);
                    CAPTURE(n);
                    CHECK_LE(worst.solve, 1);
                    CHECK_LE(worst.inverse, 1);
                    CHECK_LE(worst.det, 1);
                    CHECK_LE(worst.logdet, 1);
                }
            }
        }
    }
}
