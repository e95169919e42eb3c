// Systems larger than the table's, and what it does not check: residuals, determinants of products,
// singular matrices.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/linalg.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/subscript.h>
#include <tapestry/ops/view.h>

#include <cmath>
#include <limits>

using namespace tapestry;

namespace {

double largest(const Tensor& x) { return max(abs(x)).item(); }

}  // namespace

TEST_CASE("solve: what is left of 80 equations is rounding") {
    for (const DType dtype : {DType::f32, DType::f64}) {
        Generator generator(11);
        const Tensor a = randn({3, 80, 80}, generator, dtype);
        const Tensor b = randn({3, 80, 7}, generator, dtype);
        const Tensor x = solve(a, b);
        const double epsilon = dtype == DType::f32 ? std::numeric_limits<float>::epsilon()
                                                   : std::numeric_limits<double>::epsilon();
        // Backward stable: |b - a x| is a few roundings of |a| |x|.
        const double allowed = 4 * epsilon * max(matmul(abs(a), abs(x))).item();
        CHECK_LT(largest(sub(b, matmul(a, x))), allowed);
        CHECK_LT(largest(sub(matmul(a, inverse(a)), eye(80, dtype))),
                 40 * epsilon * max(matmul(abs(a), abs(inverse(a)))).item());
    }
}

TEST_CASE("solve: without exchanging rows there would be no answer") {
    const Tensor a = tensor<double>({{0, 2}, {3, 1}});
    CHECK_EQ(solve(a, tensor<double>({4, 5})).to_vector<double>(), std::vector<double>{1, 2});
    // Pivoting is needed: with the tiny pivot the 1 next to it would be lost.
    const Tensor tiny = tensor<double>({{1e-20, 1}, {1, 1}});
    CHECK_EQ(solve(tiny, tensor<double>({1, 2})).to_vector<double>(), std::vector<double>{1, 1});
}

TEST_CASE("det: of a product, of an exchange, of nothing, and of a singular matrix") {
    Generator generator(12);
    const Tensor a = randn({9, 9}, generator, DType::f64);
    const Tensor b = randn({9, 9}, generator, DType::f64);
    CHECK_EQ(det(matmul(a, b)).item(), doctest::Approx(det(a).item() * det(b).item()));
    CHECK_EQ(det(tensor<double>({{0, 1}, {1, 0}})).item(), -1);
    CHECK_EQ(det(ones({0, 0})).item(), 1);
    CHECK_EQ(det(ones({3, 3})).item(), 0);
    CHECK_EQ(logdet(ones({3, 3})).item(), -std::numeric_limits<double>::infinity());
    CHECK(std::isnan(logdet(tensor<double>({{0, 1}, {1, 0}})).item()));
    const Tensor huge = mul(eye(200), 100);  // 1e400
    CHECK_EQ(logdet(huge).item(), doctest::Approx(200 * std::log(100.0)));
}

namespace {
Tensor det_slope(const Tensor& a) {
    const Tensor leaf = a.clone().set_requires_grad();
    Tape tape;
    return tape.gradient(sum(det(leaf)), {leaf})[0];
}
}  // namespace

TEST_CASE("det: the gradient is the cofactors, for any rank") {
    const Tensor rank_1 = tensor<double>({{1, 2}, {2, 4}});
    CHECK_EQ(det_slope(rank_1).to_vector<double>(), std::vector<double>{4, -2, -2, 1});
    CHECK_EQ(det_slope(tensor<double>({{0, 0}, {0, 0}})).to_vector<double>(),
             std::vector<double>(4, 0.0));
    CHECK_EQ(det_slope(tensor<double>({{7}})).to_vector<double>(), std::vector<double>{1});
    CHECK_EQ(det_slope(ones({3, 3})).to_vector<double>(), std::vector<double>(9, 0.0));
    // A product of pivots that underflows, next to cofactors that do not.
    const Tensor graded = tensor<double>({{1e-200, 0}, {0, 1e-200}});
    CHECK_EQ(det_slope(graded).to_vector<double>(), std::vector<double>{1e-200, 0, 0, 1e-200});

    for (const DType dtype : {DType::f32, DType::f64}) {
        const double epsilon = dtype == DType::f32 ? 1.2e-7 : 2.3e-16;
        Generator generator(4);
        const Tensor left = randn({5, 6, 5}, generator, dtype);
        const Tensor right = randn({5, 5, 6}, generator, dtype);
        const Tensor rank_5 = matmul(left, right), regular = randn({5, 6, 6}, generator, dtype);
        for (const Tensor& a : {rank_5, regular}) {
            const Tensor slope = det_slope(a);
            const Tensor product = matmul(a, transpose(slope, -1, -2));  // det(a) 1
            const Tensor wanted = mul(reshape(det(a), {5, 1, 1}), eye(6, dtype));
            CHECK_LT(largest(sub(product, wanted)), 200 * epsilon * largest(a) * largest(slope));
            CHECK_GT(largest(slope), 0.1);
        }
    }
}

TEST_CASE("det: within range where the partial products of its pivots are not") {
    for (const double size : {1e30, 1e-30}) {
        const double other = 1 / size;
        const std::vector<double> diagonal{size, size, other, -other};
        std::vector<double> values(16);
        for (std::size_t i = 0; i < 4; ++i) values[5 * i] = diagonal[i];
        const Tensor a = to(tensor(values, {4, 4}), DType::f32).set_requires_grad();
        Tape tape;
        const Tensor y = det(a);
        CHECK_EQ(y.item(), doctest::Approx(-1).epsilon(1e-6));
        const auto slopes = tape.gradient(y, {a})[0].to_vector<double>();
        for (std::size_t i = 0; i < 4; ++i) {
            CHECK_EQ(slopes[5 * i] * diagonal[i], doctest::Approx(-1).epsilon(1e-6));
        }
    }
    const Tensor large = mul(eye(2, DType::f64), 1e200), small = mul(eye(2, DType::f64), 1e-200);
    CHECK(std::isinf(det(large).item()));
    CHECK_EQ(det(small).item(), 0);
    CHECK(std::isnan(det(tensor<float>({NAN, 1, 1, 1}, {2, 2})).item()));
}

TEST_CASE("det: second derivatives at a singular matrix") {
    const Tensor a = tensor<double>({{1, 2, 3}, {2, 4, 6}, {1, 0, 1}}).set_requires_grad();
    Tape tape;
    const Tensor slope = tape.gradient(det(a), {a}, {.create_graph = true})[0];
    CHECK_EQ(slope.to_vector<double>(), std::vector<double>{4, 4, -4, -2, -2, 2, 0, 0, 0});
    // d^2 det / (d a00 d a11) = a22, ...
    const Tensor second = tape.gradient(select(select(slope, 0, 0), 0, 0), {a})[0];
    CHECK_EQ(second.to_vector<double>(), std::vector<double>{0, 0, 0, 0, 1, 0, 0, -6, 4});
}

TEST_CASE("svd: gradients of vectors where squares leave f32's range") {
    const auto gradient = [](double k) {
        const Tensor a = to(tensor<double>({3, 1, 0, 2}, {2, 2}) * k, DType::f32);
        Tape tape;
        const Tensor x = a.detach().set_requires_grad();
        return to(tape.gradient(sum(svd(x).u), {x})[0] * k, DType::f64).to_vector<double>();
    };
    const auto one = gradient(1);
    for (const double k : {1e-24, 1e20}) {
        const auto other = gradient(k);
        for (std::size_t i = 0; i < one.size(); ++i) {
            CHECK_EQ(other[i], doctest::Approx(one[i]).epsilon(1e-4));
        }
    }
    const double nan = std::nan("");
    CHECK_THROWS_AS(qr(tensor<double>({0, 1, nan, 3}, {2, 2})), ValueError);
}
