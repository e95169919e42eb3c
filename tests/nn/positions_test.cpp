// Positions: the formulas, and the properties that make them useful.
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/rotary.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/module_gradients.h>

#include <cmath>

using namespace tapestry;
using test::check_module_gradients;
using test::check_throws;
using test::random;

TEST_CASE("sinusoidal_positions: the paper's formula, from any place on") {
    const Tensor all = sinusoidal_positions(50, 6, 0, DType::f64);
    for (std::int64_t pos = 0; pos < 50; ++pos) {
        for (std::int64_t i = 0; i < 3; ++i) {
            const double angle =
                static_cast<double>(pos) / std::pow(10000, 2 * static_cast<double>(i) / 6);
            CHECK(all.at({pos, 2 * i}) == doctest::Approx(std::sin(angle)).epsilon(1e-12));
            CHECK(all.at({pos, 2 * i + 1}) == doctest::Approx(std::cos(angle)).epsilon(1e-12));
        }
    }
    CHECK_EQ(sinusoidal_positions(10, 6, 40, DType::f64).to_vector<double>(),
             views::slice(all, 0, 40, 50).to_vector<double>());
    CHECK_EQ(sinusoidal_positions(2, 3).shape(), Shape{2, 3});  // an odd size ends with a sine
    CHECK_EQ(sinusoidal_positions(0, 4).shape(), Shape{0, 4});
    // As exact far away as at the beginning.
    CHECK(sinusoidal_positions(1, 2, 1'000'000, DType::f64).at({0, 0}) ==
          doctest::Approx(std::sin(1e6)).epsilon(1e-9));
    check_throws<ValueError>(
        [] { sinusoidal_positions(-1, 4); },
        "sinusoidal_positions: length -1, first 0, dim 4: none may be negative, dim not 0");
    CHECK_THROWS_AS(sinusoidal_positions(1, 0), ValueError);
    CHECK_THROWS_AS(sinusoidal_positions(1, 4, -1), ValueError);
}

TEST_CASE("rotary: turns pairs, keeps lengths, and products see distances alone") {
    const Tensor x = random({2, 5, 4}, 1);
    const Tensor y = rotary(x, 3);
    const Tensor unturned = rotary(views::slice(x, 1, 0, 1));
    CHECK_EQ(unturned.to_vector<double>(), views::slice(x, 1, 0, 1).to_vector<double>());
    for (std::int64_t b = 0; b < 2; ++b) {
        for (std::int64_t t = 0; t < 5; ++t) {
            for (std::int64_t i = 0; i < 2; ++i) {
                const double angle =
                    static_cast<double>(3 + t) / std::pow(10000, 2 * static_cast<double>(i) / 4);
                const double u = x.at({b, t, 2 * i}), v = x.at({b, t, 2 * i + 1});
                CHECK(y.at({b, t, 2 * i}) ==
                      doctest::Approx(u * std::cos(angle) - v * std::sin(angle)).epsilon(1e-12));
                CHECK(y.at({b, t, 2 * i + 1}) ==
                      doctest::Approx(u * std::sin(angle) + v * std::cos(angle)).epsilon(1e-12));
            }
        }
    }
    const Tensor q = random({1, 8}, 2), k = random({1, 8}, 3);
    const auto product = [&](std::int64_t i, std::int64_t j) {
        return sum(rotary(q, i) * rotary(k, j)).item();
    };
    CHECK(product(7, 3) == doctest::Approx(product(104, 100)).epsilon(1e-12));
    CHECK(std::abs(product(7, 3) - product(7, 4)) > 1e-3);
    test::check_passes(
        gradcheck([](const Tensors& t) { return rotary(t[0], 2); }, {random({2, 3, 4})}));
    check_throws<ShapeError>(
        [] {
            rotary(ones({2, 3}));
        },
        "rotary: needs [..., T, D] with an even D, got [2, 3]");
    check_throws<ValueError>(
        [] {
            rotary(ones({2, 4}), -1);
        },
        "rotary: first position must be >= 0, got -1");
    check_throws<ValueError>(
        [] {
            rotary(ones({2, 4}), 0, 0);
        },
        "rotary: base must be positive and finite, got 0");
}

TEST_CASE("PositionalEncoding") {
    Generator generator(1);
    PositionalEncoding learned(Positions::learned, 6, 4, generator);
    CHECK_EQ(learned.parameter_count(), 24);
    CHECK_EQ(learned.settings(), "learned, 6 x 4");
    const Tensor x = random({2, 3, 4}, 1, DType::f32);
    CHECK_EQ(learned(x, 2).to_vector<float>(),
             (x + views::slice(learned.weight, 0, 2, 5)).to_vector<float>());
    check_module_gradients(learned, [&](const Tensors& t) { return learned(t[0]); },
                           {random({2, 6, 4})});
    check_throws<ShapeError>(
        [&] {
            learned(ones({1, 3, 4}, DType::f64), 4);
        },
        "PositionalEncoding: positions 4 to 6 of a table of 6");
    check_throws<ShapeError>(
        [&] {
            learned(ones({3, 4}, DType::f64));
        },
        "PositionalEncoding: needs [B, T, 4], got [3, 4]");

    PositionalEncoding waves(Positions::sinusoidal, 0, 4);
    CHECK_EQ(waves.parameter_count(), 0);
    CHECK_EQ(waves.settings(), "sinusoidal, 4");
    CHECK_EQ(waves(x, 100).to_vector<float>(),
             (x + sinusoidal_positions(3, 4, 100)).to_vector<float>());

    check_throws<ValueError>([] { PositionalEncoding(Positions::rotary, 6, 4); },
                             "PositionalEncoding: rotary positions are not added to the vectors; "
                             "they belong to MultiHeadAttention");
    check_throws<ValueError>([] { PositionalEncoding(Positions::learned, 0, 4); },
                             "PositionalEncoding: positions must be at least 1, got 0");
    CHECK_THROWS_AS(PositionalEncoding(Positions::sinusoidal, 6, 0), ValueError);
}
