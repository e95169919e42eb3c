// Products with zeros, where division would fail, and their gradients to second order, by hand and
// by differences.
#include <doctest/doctest.h>
#include <tapestry/autograd/check/gradcheck.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/scan.h>
#include <tapestry/tests/ops/range_rows.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <cmath>

using namespace tapestry;

namespace {

using Values = std::vector<double>;

template <class F>
Values gradient_of(Tensor x, F f, const Tensor& cotangent = {}) {
    x.set_requires_grad();
    Tape tape;
    const Tensor gradient = tape.gradient(f(x), {x}, {.cotangent = cotangent})[0];
    return gradient.to_vector<double>();
}

}  // namespace

TEST_CASE("prod: the gradient with one, two and three zeros") {
    const auto product = [](const Tensor& x) { return prod(x); };
    CHECK(gradient_of(tensor<double>({2, 0, 5}), product) == Values{0, 10, 0});
    CHECK(gradient_of(tensor<double>({2, 0, 0}), product) == Values{0, 0, 0});
    CHECK(gradient_of(tensor<double>({7}), product) == Values{1});
}

TEST_CASE("prod: a product within range whose partial products are not") {
    const Tensor x = tensor<float>({1e30F, 1e30F, 1e-30F, 1e-30F});
    CHECK(prod(x).item() == doctest::Approx(1));
    const auto slopes = gradient_of(x, [](const Tensor& v) { return prod(v); });
    CHECK(slopes[0] == doctest::Approx(1e-30));
    CHECK(slopes[3] == doctest::Approx(1e30));
}

TEST_CASE("prod, cumprod: n u times the product, from subnormal factors to the largest") {
    if (!test::kHasExact) return test::skip("no long double here is better than a double");
    for (const DType dtype : {DType::f32, DType::f64}) {
        const int end = dtype == DType::f32 ? 125 : 1020;
        const double u = dtype == DType::f32 ? 0x1p-24 : 0x1p-53;
        Generator generator(3);
        for (const int n : {2, 3, 10, 50}) {
            std::vector<double> factors;
            int exponent = 0;  // of the product; kept in range where an even number is multiplied
            for (int i = 0; i < n; ++i) {
                const int one = static_cast<int>((2 * generator.uniform() - 1) * end);
                const int e = i % 2 == 0 ? one : std::clamp(-exponent, -end, end);
                exponent += e;
                factors.push_back(std::ldexp(1 + generator.uniform(), e));
                if (dtype == DType::f32) factors.back() = static_cast<float>(factors.back());
            }
            const Tensor x = to(tensor(factors, {n}), dtype);
            const auto partial = cumprod(x, 0).to_vector<double>();
            test::Exact exact = 1;
            for (int i = 0; i < n; ++i) {
                exact *= factors[static_cast<std::size_t>(i)];
                if (std::abs(std::ilogb(exact)) > end) continue;
                const double off =
                    partial[static_cast<std::size_t>(i)] / static_cast<double>(exact) - 1;
                CHECK_LE(std::abs(off), (i + 1) * u);
            }
            if (std::abs(std::ilogb(exact)) > end) continue;
            CHECK_LE(std::abs(prod(x).item() / static_cast<double>(exact) - 1), n * u);
        }
    }
}

TEST_CASE("cumprod: the gradient with zeros") {
    const auto running = [](const Tensor& x) { return cumprod(x, 0); };
    const Tensor g = tensor<double>({1, 10, 100, 1000});
    // y = (a, ab, abc, abcd)
    const auto by_hand = [](double a, double b, double c, double d) {
        return Values{1 + 10 * b + 100 * b * c + 1000 * b * c * d,
                      10 * a + 100 * a * c + 1000 * a * c * d, 100 * a * b + 1000 * a * b * d,
                      1000 * a * b * c};
    };
    CHECK(gradient_of(tensor<double>({2, 0, 5, 3}), running, g) == by_hand(2, 0, 5, 3));
    CHECK(gradient_of(tensor<double>({0, 4, 0, 3}), running, g) == by_hand(0, 4, 0, 3));
    CHECK(gradient_of(tensor<double>({2, 3, 5, 0}), running, g) == by_hand(2, 3, 5, 0));
}

TEST_CASE("prod, cumprod: second derivatives with zeros") {
    const Tensor x = tensor<double>({{2, 0, -3}, {0, 0, 1.5}});
    const auto products = [](const Tensors& v) { return prod(v[0], {1}); };
    const auto of_columns = [](const Tensors& v) { return prod(v[0], {0}, true); };
    const auto running = [](const Tensors& v) { return cumprod(v[0], 1); };
    const std::vector<TensorFunction> functions{products, of_columns, running};
    for (const TensorFunction& f : functions) {
        const GradcheckReport first = gradcheck(f, {x});
        CHECK_MESSAGE(first, fmt::format("{}", first));
        const GradcheckReport second = gradgradcheck(f, {x});
        CHECK_MESSAGE(second, fmt::format("{}", second));
    }
}

TEST_CASE("prod: of nothing 1, whole numbers modulo 2^64, masks as i64") {
    CHECK_EQ(prod(zeros({0})).item(), 1);
    CHECK_EQ(prod(full({64}, 2, DType::i64)).item<std::int64_t>(), 0);
    CHECK_EQ(prod(full({63}, 2, DType::i64)).item<std::int64_t>(),
             std::numeric_limits<std::int64_t>::min());
    CHECK(prod(ones({2}, DType::boolean)).dtype() == DType::i64);
    CHECK(cumprod(ones({2}, DType::boolean), 0).dtype() == DType::i64);
}
