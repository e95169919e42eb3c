// Systems larger than the catalogue's, and what it does not test: residuals, determinants of
// products, singular matrices.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/linalg.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>

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
    // Not a good pivot either: the tiny one would swallow the 1 next to it.
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

TEST_CASE("det: the gradient of a singular matrix is refused by name") {
    Tape tape;
    const Tensor a = ones({3, 3}).set_requires_grad();
    CHECK_THROWS_WITH(tape.backward(det(a)),
                      "inverse: the matrix is singular: column 1 has no pivot");
}
