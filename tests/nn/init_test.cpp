// Initialisers: bounds, deviations and gains against PyTorch's formulas, where they write, and
// errors.
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/module/init.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/support.h>

#include <cmath>

using namespace tapestry;
using doctest::Approx;
using init::Nonlinearity;
using test::check_throws;

namespace {

struct Spread {
    double mean = 0, deviation = 0, low = INFINITY, high = -INFINITY;

    explicit Spread(const Tensor& x) {
        const auto values = x.to_vector<double>();
        const auto n = static_cast<double>(values.size());
        for (const double value : values) {
            mean += value / n;
            low = std::min(low, value);
            high = std::max(high, value);
        }
        for (const double value : values) deviation += (value - mean) * (value - mean) / n;
        deviation = std::sqrt(deviation);
    }
};

// 36,000 values: means and deviations are off by less than 2% of the deviation.
void check_normal(const Tensor& x, double deviation) {
    const Spread spread(x);
    CHECK(std::abs(spread.mean) < 0.02 * deviation);
    CHECK_EQ(spread.deviation, Approx(deviation).epsilon(0.02));
    CHECK(spread.high > 3 * deviation);
}

void check_uniform(const Tensor& x, double bound) {
    const Spread spread(x);
    CHECK(spread.low >= -bound);
    CHECK(spread.high <= bound);
    CHECK_EQ(spread.low, Approx(-bound).epsilon(0.01));
    CHECK_EQ(spread.high, Approx(bound).epsilon(0.01));
    CHECK_EQ(spread.deviation, Approx(bound / std::sqrt(3)).epsilon(0.02));
}

}  // namespace

TEST_CASE("init: constants, uniform and normal, written where the parameter stands") {
    Generator generator(1), same(1);
    Linear layer(3, 4);
    const Tensor handle = layer.weight;
    init::uniform_(layer.weight, -2, 3, generator);
    CHECK_EQ(handle.to_vector<float>(), uniform({4, 3}, -2, 3, same).to_vector<float>());
    init::normal_(layer.weight, 5, 0.1, generator);
    CHECK_EQ(handle.to_vector<float>(), normal({4, 3}, 5, 0.1, same).to_vector<float>());
    CHECK(layer.weight.requires_grad());
    CHECK_EQ(init::ones_(layer.bias).at({3}), 1);
    CHECK_EQ(init::zeros_(layer.bias).at({3}), 0);
}

TEST_CASE("init: fans and gains are PyTorch's") {
    CHECK_EQ(init::fans(zeros({5, 7})).in, 7);
    CHECK_EQ(init::fans(zeros({5, 7})).out, 5);
    CHECK_EQ(init::fans(zeros({5, 7, 3, 2})).in, 42);  // convolution weight
    CHECK_EQ(init::fans(zeros({5, 7, 3, 2})).out, 30);
    check_throws<ShapeError>([] { init::fans(zeros({5})); },
                             "fans: needs a weight [out, in, ...], got shape [5]");
    CHECK_EQ(init::calculate_gain(Nonlinearity::linear), 1);
    CHECK_EQ(init::calculate_gain(Nonlinearity::sigmoid), 1);
    CHECK_EQ(init::calculate_gain(Nonlinearity::tanh), Approx(5.0 / 3));
    CHECK_EQ(init::calculate_gain(Nonlinearity::relu), Approx(1.4142135623730951));
    CHECK_EQ(init::calculate_gain(Nonlinearity::leaky_relu), Approx(1.4141428569978354));
    CHECK_EQ(init::calculate_gain(Nonlinearity::leaky_relu, 0.2), Approx(1.3867504905630728));
    CHECK_EQ(init::calculate_gain(Nonlinearity::selu), 0.75);
}

TEST_CASE("init: Xavier and Kaiming, by bounds and deviations") {
    Generator generator(2);
    Tensor x = zeros({120, 300});
    check_uniform(init::xavier_uniform_(x, {.generator = generator}), std::sqrt(6.0 / 420));
    check_normal(init::xavier_normal_(x, {.gain = 2, .generator = generator}),
                 2 * std::sqrt(2.0 / 420));
    check_uniform(init::kaiming_uniform_(x, {.generator = generator}), std::sqrt(6.0 / 300));
    check_normal(init::kaiming_normal_(x, {.mode = init::FanMode::fan_out, .generator = generator}),
                 std::sqrt(2.0 / 120));
    // Linear's initialization, as in PyTorch: leaky_relu with slope sqrt(5).
    check_uniform(init::kaiming_uniform_(x, {.nonlinearity = Nonlinearity::leaky_relu,
                                             .negative_slope = std::sqrt(5),
                                             .generator = generator}),
                  1 / std::sqrt(300));
    Tensor vector = zeros({3});
    check_throws<ShapeError>([&] { init::xavier_normal_(vector); },
                             "xavier_normal_: needs a weight [out, in, ...], got shape [3]");
    CHECK_THROWS_AS(init::xavier_uniform_(vector), ShapeError);
    CHECK_THROWS_AS(init::kaiming_normal_(vector), ShapeError);
    CHECK_THROWS_AS(init::kaiming_uniform_(vector), ShapeError);
}

TEST_CASE("init: trunc_normal_ keeps to its interval, wide or narrow, and to its moments") {
    Generator generator(3);
    Tensor x = zeros({200, 100}, DType::f64);
    // Mean and deviation of a standard normal truncated to [a, b], from tables of phi and Phi.
    const auto check = [&](double low, double high, double mean, double deviation) {
        CAPTURE(low);
        const Spread spread(init::trunc_normal_(x, 1, 3, 1 + 3 * low, 1 + 3 * high, generator));
        CHECK(spread.low >= 1 + 3 * low);
        CHECK(spread.high <= 1 + 3 * high);
        CHECK(std::abs((spread.mean - 1) / 3 - mean) < 0.03 * deviation);
        CHECK_EQ(spread.deviation / 3, Approx(deviation).epsilon(0.02));
    };
    check(-2, 2, 0, 0.879626);        // nearly a normal distribution
    check(0, 4, 0.797667, 0.602209);  // half of one
    check(-0.5, 0.5, 0, 0.283882);    // nearly uniform
    check(1, 2, 1.383169, 0.269709);  // to one side of the mean
    check(-2, -1, -1.383169, 0.269709);
    check_throws<ValueError>([&] { init::trunc_normal_(x, 0, 1, 2, 1); },
                             "trunc_normal_: needs low 2 < high 1, a finite mean 0 and a positive "
                             "deviation 1");
    check_throws<ValueError>(
        [&] { init::trunc_normal_(x, 0, 1, 3, 4); },
        "trunc_normal_: [3, 4] lies more than two deviations of 1 from the mean 0");
    Tensor whole = zeros({3}, DType::i64);
    CHECK_THROWS_AS(init::trunc_normal_(whole), DTypeError);
}

TEST_CASE("init: orthogonal_ makes rows or columns orthogonal, of length gain") {
    Generator generator(4);
    const auto check = [&](const Shape& shape, double gain) {
        CAPTURE(shape);
        Tensor x = zeros(shape, DType::f64);
        init::orthogonal_(x, gain, generator);
        const Tensor m = reshape(x, {x.size(0), -1});
        const bool wide = m.size(0) <= m.size(1);
        const Tensor products =
            wide ? matmul(m, transpose(m, 0, 1)) : matmul(transpose(m, 0, 1), m);
        for (std::int64_t i = 0; i < products.size(0); ++i) {
            for (std::int64_t j = 0; j < products.size(1); ++j) {
                const double wanted = i == j ? gain * gain : 0;
                CHECK(std::abs(products.at({i, j}) - wanted) < 1e-12);
            }
        }
    };
    check({5, 5}, 1);
    check({3, 7}, 2);
    check({9, 4}, 1);
    check({6, 2, 3, 3}, 0.5);
    Tensor empty = zeros({0, 3}), vector = zeros({3});
    CHECK_EQ(init::orthogonal_(empty).numel(), 0);
    check_throws<ShapeError>([&] { init::orthogonal_(vector); },
                             "orthogonal_: needs a weight [out, in, ...], got shape [3]");
    Tensor whole = zeros({3, 3}, DType::i64);
    check_throws<DTypeError>([&] { init::orthogonal_(whole); },
                             "orthogonal_: needs floating-point numbers, got i64");

    // Every direction is equally likely: an entry of a 3 x 3 matrix has mean 0 and variance 1/3.
    double sum = 0, squares = 0;
    for (int i = 0; i < 2000; ++i) {
        Tensor x = zeros({3, 3}, DType::f64);
        const double first = init::orthogonal_(x, 1, generator).at({0, 0});
        sum += first / 2000;
        squares += first * first / 2000;
    }
    CHECK(std::abs(sum) < 0.05);
    CHECK_EQ(squares, Approx(1.0 / 3).epsilon(0.1));
}
