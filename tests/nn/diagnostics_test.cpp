// Diagnostics of heads and weights on tensors with known answers.
#include <tapestry/core/create.h>
#include <tapestry/nn/attention/diagnostics.h>
#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/support.h>

#include <cmath>
#include <limits>
#include <utility>

using namespace tapestry;
using doctest::Approx;
using test::check_throws;
using test::random;

TEST_CASE("diagnostics: singular values") {
    const Tensor diagonal = tensor<double>({{0, 3, 0}, {-5, 0, 0}});
    CHECK_EQ(singular_values(diagonal).to_vector<double>(), std::vector<double>{5, 3});
    const Tensor shear = tensor<double>({{1, 1}, {0, 1}});  // the golden ratio and its inverse
    const Tensor found = singular_values(shear);
    CHECK_EQ(found.at({0}), Approx((1 + std::sqrt(5)) / 2).epsilon(1e-14));
    CHECK_EQ(found.at({1}), Approx((std::sqrt(5) - 1) / 2).epsilon(1e-14));

    // Sum of squares and product against formulas without eigenvalues; tall and wide, in a batch.
    const Tensor x = random({2, 3, 20, 7});
    const Tensor values = singular_values(x);
    REQUIRE(values.shape() == Shape{2, 3, 7});
    const Tensor turned = singular_values(views::transpose(x, -2, -1));
    for (std::int64_t h = 0; h < 3; ++h) {
        double total = 0, squares = 0;
        for (std::int64_t i = 0; i < 7; ++i) {
            if (i > 0) CHECK_LE(values.at({1, h, i}), values.at({1, h, i - 1}));
            CHECK_EQ(turned.at({1, h, i}), Approx(values.at({1, h, i})).epsilon(1e-12));
            total += std::pow(values.at({1, h, i}), 2);
        }
        for (std::int64_t t = 0; t < 20; ++t) {
            for (std::int64_t d = 0; d < 7; ++d) squares += std::pow(x.at({1, h, t, d}), 2);
        }
        CHECK_EQ(total, Approx(squares).epsilon(1e-12));
    }
    // A V with V orthogonal has the singular values of A.
    const double c = std::cos(0.3), s = std::sin(0.3);
    const Tensor rotated =
        matmul(tensor<double>({{4, 0}, {0, 1e-6}, {0, 0}}), tensor<double>({{c, s}, {-s, c}}));
    CHECK_EQ(singular_values(rotated).at({1}), Approx(1e-6).epsilon(1e-3));
    CHECK(singular_values(zeros({3, 0})).shape() == Shape{0});
    CHECK_EQ(singular_values(zeros({3, 2})).to_vector<double>(), std::vector<double>{0, 0});
}

TEST_CASE("diagnostics: rank of head outputs") {
    // Head r is a sum of r outer products, in f32.
    Tensors heads;
    for (std::int64_t r = 0; r < 4; ++r) {
        heads.push_back(
            r == 0 ? zeros({2, 9, 6})
                   : matmul(random({2, 9, r}, 1, DType::f32), random({2, r, 6}, 2, DType::f32)));
    }
    const Tensor rank = head_rank(stack(heads, 1));
    REQUIRE(rank.shape() == Shape{2, 4});
    CHECK_EQ(rank.to_vector<std::int64_t>(), std::vector<std::int64_t>{0, 1, 2, 3, 0, 1, 2, 3});
    const Tensor graded = reshape(tensor<double>({{1, 0}, {0, 1e-3}}), {1, 1, 2, 2});
    CHECK_EQ(head_rank(graded).item<std::int64_t>(), 2);
    CHECK_EQ(head_rank(graded, 1e-2).item<std::int64_t>(), 1);
}

TEST_CASE("diagnostics: similarity of head outputs") {
    const Tensor a = random({1, 5, 4}), b = random({1, 5, 4}, 2);
    const Tensor heads = stack({a, a * 3.0, a * -1.0, b, a * 0.0}, 1);
    const Tensor cosines = head_similarity(heads);
    REQUIRE(cosines.shape() == Shape{1, 5, 5});
    const auto at = [&](std::int64_t i, std::int64_t j) { return cosines.at({0, i, j}); };
    CHECK_EQ(at(0, 1), Approx(1).epsilon(1e-14));
    CHECK_EQ(at(1, 2), Approx(-1).epsilon(1e-14));
    CHECK_EQ(at(0, 4), 0);
    CHECK_EQ(at(4, 4), 0);
    CHECK_EQ(at(3, 3), 1);
    double dot = 0, aa = 0, bb = 0;
    for (std::int64_t i = 0; i < 20; ++i) {
        const double x = a.at({0, i / 4, i % 4}), y = b.at({0, i / 4, i % 4});
        dot += x * y;
        aa += x * x;
        bb += y * y;
    }
    CHECK_EQ(at(3, 0), Approx(dot / std::sqrt(aa * bb)).epsilon(1e-14));
    CHECK_EQ(at(3, 0), at(0, 3));
}

TEST_CASE("diagnostics: entropy and distance of weights") {
    // Head 0 attends to one key, head 1 to all equally, head 2 half to itself and half three back,
    // or to nothing.
    const std::int64_t keys = 6, queries = 3;
    Tensor weights = zeros({2, 3, queries, keys}, DType::f64);
    const auto set = [&](std::int64_t head, std::int64_t query, std::int64_t key, double p) {
        for (std::int64_t b = 0; b < 2; ++b) {
            weights.mutable_data<double>()[((b * 3 + head) * queries + query) * keys + key] = p;
        }
    };
    for (std::int64_t i = 0; i < queries; ++i) {
        const std::int64_t position = i + keys - queries;  // the last ones
        set(0, i, position - 2, 1);
        for (std::int64_t j = 0; j < keys; ++j) set(1, i, j, 1.0 / 6);
        if (i == 1) continue;
        set(2, i, position, 0.5);
        set(2, i, position - 3, 0.5);
    }
    const Tensor entropy = attention_entropy(weights), distance = attention_distance(weights);
    REQUIRE(entropy.shape() == Shape{3});
    CHECK_EQ(entropy.at({0}), 0);
    CHECK_EQ(entropy.at({1}), Approx(std::log(6.0)).epsilon(1e-14));
    CHECK_EQ(entropy.at({2}), Approx(std::log(2.0)).epsilon(1e-14));
    CHECK_EQ(distance.at({0}), 2);
    // From 3: 3 2 1 0 1 2 = 9; from 4: 11; from 5: 15.
    CHECK_EQ(distance.at({1}), Approx((9 + 11 + 15) / 18.0).epsilon(1e-14));
    CHECK_EQ(distance.at({2}), Approx(1.5).epsilon(1e-14));
    const Tensor nothing = zeros({1, 1, 2, 2});
    CHECK(std::isnan(attention_entropy(nothing).item()));
    CHECK(std::isnan(attention_distance(nothing).item()));
}

TEST_CASE("diagnostics: of an attention that really ran") {
    Generator generator(1);
    const MultiHeadAttention attention({.dim = 8, .heads = 2, .causal = true}, generator);
    AttentionRecord record;
    attention(random({2, 10, 8}, 3, DType::f32), {.record = &record});
    const Tensor entropy = attention_entropy(record.weights);
    const Tensor distance = attention_distance(record.weights);
    for (std::int64_t h = 0; h < 2; ++h) {
        CHECK_GT(entropy.at({h}), 0);
        CHECK_LT(entropy.at({h}), std::log(10.0));
        CHECK_GT(distance.at({h}), 0);
        CHECK_LT(distance.at({h}), 9);
    }
    CHECK_EQ(head_rank(record.heads).to_vector<std::int64_t>(),
             std::vector<std::int64_t>{4, 4, 4, 4});
    CHECK_EQ(head_similarity(record.heads).at({1, 1, 1}), 1);
}

TEST_CASE("diagnostics: of what is not finite") {
    const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
    const Tensor values =
        singular_values(tensor<double>({1, nan, 0, 1, 3, 0, 0, 4, 1, inf, 0, 1}, {3, 2, 2}));
    for (const std::int64_t i : {0, 2}) {
        for (const std::int64_t j : {0, 1}) CHECK(std::isnan(values.at({i, j})));
    }
    CHECK_EQ(values.at({1, 0}), Approx(4));
    const Tensor heads = tensor<double>({1, nan, 0, 2}, {1, 2, 1, 2});
    CHECK(head_rank(heads).to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1});
    const Tensor alike = head_similarity(heads);
    for (const auto& [i, j] : {std::pair{0, 0}, std::pair{0, 1}, std::pair{1, 0}}) {
        CHECK(std::isnan(alike.at({0, i, j})));
    }
    CHECK_EQ(alike.at({0, 1, 1}), 1);
    CHECK(std::isnan(attention_entropy(tensor<double>({nan, 1}, {1, 1, 1, 2})).item()));
}

TEST_CASE("diagnostics: bad input") {
    check_throws<ShapeError>([] { singular_values(zeros({3})); },
                             "singular_values: needs [..., M, N], got [3]");
    check_throws<ShapeError>(
        [] {
            head_rank(zeros({3, 2}));
        },
        "head_rank: needs [B, H, ., .], got [3, 2]");
    check_throws<ValueError>(
        [] {
            head_rank(zeros({1, 1, 2, 2}), 0);
        },
        "head_rank: threshold must be from 1e-8 to 1, got 0");
    check_throws<ShapeError>(
        [] {
            attention_entropy(zeros({2, 2}));
        },
        "attention_entropy: needs [B, H, ., .], got [2, 2]");
    check_throws<DTypeError>(
        [] {
            attention_distance(zeros({1, 1, 2, 2}, DType::i64));
        },
        "attention_distance: needs floating-point numbers, got i64");
    check_throws<Error>([] { head_similarity(Tensor()); },
                        "head_similarity: got an undefined tensor");
}
