// ALiBi and relative bias: the formulas, their combination with a mask, and that a view of a row of
// numbers is the matrix they define.
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/attention/masks.h>
#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/tests/nn/module_gradients.h>

#include <cmath>
#include <limits>

using namespace tapestry;
using test::check_module_gradients;
using test::check_throws;
using test::close;
using test::random;

TEST_CASE("ALiBi: slopes") {
    CHECK_EQ(alibi_slopes(1), std::vector<double>{std::exp2(-8)});
    CHECK_EQ(alibi_slopes(4), std::vector<double>{0.25, 0.0625, 0.015625, 0.00390625});
    CHECK_EQ(alibi_slopes(8).front(), 0.5);
    // For six: the slopes for four, then the first and the third of eight.
    CHECK_EQ(alibi_slopes(6), std::vector<double>{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125});
    check_throws<ValueError>([] { alibi_slopes(0); },
                             "alibi_slopes: heads must be at least 1, got 0");
}

TEST_CASE("ALiBi: a line for each head, from the query on both sides") {
    const AlibiBias bias(3);
    const auto slopes = alibi_slopes(3);
    for (const auto& [queries, keys] : {std::pair{1, 1}, {4, 4}, {2, 9}, {1, 30}, {0, 3}, {3, 3}}) {
        for (const DType dtype : {DType::f64, DType::f32}) {
            const Tensor b = bias(queries, keys, dtype);
            CHECK_EQ(b.shape(), Shape{3, queries, keys});
            for (std::int64_t h = 0; h < 3; ++h) {
                for (std::int64_t i = 0; i < queries; ++i) {
                    for (std::int64_t j = 0; j < keys; ++j) {
                        const auto far = static_cast<double>(std::abs(i + keys - queries - j));
                        CHECK(b.at({h, i, j}) ==
                              doctest::Approx(-slopes[static_cast<std::size_t>(h)] * far));
                    }
                }
            }
        }
    }
    check_throws<ValueError>([&] { bias(3, 2, DType::f32); },
                             "AlibiBias: 3 queries are not the last of 2 positions");
    CHECK_THROWS_AS(AlibiBias(0), ValueError);
}

TEST_CASE("ALiBi: attention adds it, in addition to any mask") {
    MultiHeadAttention layer({.dim = 8, .heads = 2, .positions = Positions::alibi});
    MultiHeadAttention plain({.dim = 8, .heads = 2});
    test::randomise(layer);
    test::randomise(plain);  // the same random numbers
    const Tensor x = random({2, 5, 8});
    const Tensor bias = AlibiBias(2)(5, 5, DType::f64);
    const Tensor lengths = length_mask(tensor<std::int64_t>({5, 3}), 5);
    const Tensor numbers = random({5, 5}, 7);
    CHECK(close(layer(x), plain(x, {.mask = bias.clone()})));
    CHECK(close(layer(x, {.mask = numbers}), plain(x, {.mask = numbers + bias})));
    const Tensor nothing = scalar(-std::numeric_limits<double>::infinity(), DType::f64);
    CHECK(close(layer(x, {.mask = lengths}), plain(x, {.mask = where(lengths, bias, nothing)})));
    check_module_gradients(layer, [&](const Tensors& t) { return layer(t[0], {.mask = lengths}); },
                           {x.clone()});
}

TEST_CASE("relative bias: buckets") {
    // Raffel et al. 2020: 32 buckets, half of them for one distance each, up to 128.
    const RelativeBiasConfig back{.causal = true};
    for (std::int64_t far = 0; far < 16; ++far) CHECK_EQ(relative_bucket(-far, back), far);
    CHECK_EQ(relative_bucket(-16, back), 16);
    CHECK_EQ(relative_bucket(-31, back), 21);  // 16 + 16 log(31/16) / log(8) = 21.09
    CHECK_EQ(relative_bucket(-127, back), 31);
    CHECK_EQ(relative_bucket(-100000, back), 31);
    CHECK_EQ(relative_bucket(5, back), 0);  // ahead

    const RelativeBiasConfig both;
    for (const std::int64_t far : {0, 1, 7}) CHECK_EQ(relative_bucket(-far, both), far);
    CHECK_EQ(relative_bucket(7, both), 16 + 7);
    CHECK_EQ(relative_bucket(-8, both), 8);
    CHECK_EQ(relative_bucket(-40, both), 12);  // 8 + 8 log(40/8) / log(16) = 12.6
    CHECK_EQ(relative_bucket(40, both), 16 + 12);
    CHECK_EQ(relative_bucket(-1000, both), 15);
    CHECK_EQ(relative_bucket(1000, both), 31);
}

TEST_CASE("relative bias: a number for each head and distance") {
    for (const bool causal : {false, true}) {
        const RelativeBiasConfig config{.heads = 2, .causal = causal, .buckets = 8, .distance = 20};
        RelativeBias bias(config);
        test::randomise(bias);
        CHECK_EQ(bias.settings(),
                 causal ? "8 buckets, 2 heads, behind" : "8 buckets, 2 heads, both sides");
        const Tensor b = bias(3, 30);
        for (std::int64_t h = 0; h < 2; ++h) {
            for (std::int64_t i = 0; i < 3; ++i) {
                for (std::int64_t j = 0; j < 30; ++j) {
                    CHECK_EQ(b.at({h, i, j}),
                             bias.weight.at({relative_bucket(j - i - 27, config), h}));
                }
            }
        }
        check_module_gradients(bias, [&] { return bias(12, 12); });
    }
    check_throws<ValueError>([] { RelativeBias({.heads = 2})(3, 2); },
                             "RelativeBias: 3 queries are not the last of 2 positions");
    check_throws<ValueError>([] { RelativeBias({.heads = 0}); },
                             "RelativeBias: heads must be at least 1, got 0");
    check_throws<ValueError>([] { RelativeBias({.buckets = 7}); },
                             "RelativeBias: buckets must be even and at least 4, got 7");
    check_throws<ValueError>(
        [] { RelativeBias({.causal = true, .distance = 16}); },
        "RelativeBias: distance 16 must exceed the 16 buckets of one distance each");
}

TEST_CASE("relative bias: in attention, with a mask") {
    MultiHeadAttention layer(
        {.dim = 4, .heads = 2, .causal = true, .positions = Positions::relative});
    layer.to(DType::f64);
    CHECK_EQ(layer.relative_bias->weight.shape(), Shape{32, 2});
    const Tensor mask = length_mask(tensor<std::int64_t>({20, 3}), 20);
    const Tensor x = random({2, 20, 4});
    MultiHeadAttention plain({.dim = 4, .heads = 2, .causal = true});
    plain.qkv->weight = layer.qkv->weight;
    plain.qkv->bias = layer.qkv->bias;
    plain.output.weight = layer.output.weight;
    plain.output.bias = layer.output.bias;
    plain.to(DType::f64);
    CHECK(close(layer(x, {.mask = mask}), plain(x, {.mask = mask})));  // zeros at the start
    test::randomise(layer);
    CHECK_FALSE(close(layer(x), plain(x)));
    check_module_gradients(layer, [&](const Tensors& t) { return layer(t[0], {.mask = mask}); },
                           {x.clone()});
}
