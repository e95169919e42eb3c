// Self- and cross-attention, masks, caches, and what a call records. tests/torch compares its
// numbers with PyTorch's; here they are compared with itself and with plain ops.
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/attention/masks.h>
#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/module_gradients.h>

using namespace tapestry;
using test::check_module_gradients;
using test::check_throws;
using test::difference;
using test::random;
using test::plain::numbers;

namespace {

constexpr double kExact = 1e-13;

bool same_bits(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && a.to_vector<double>() == b.to_vector<double>();
}

bool close(const Tensor& a, const Tensor& b) { return difference(a, numbers(b)) < kExact; }

}  // namespace

TEST_CASE("MultiHeadAttention: to other vectors, of other sizes") {
    const Tensor x = random({2, 3, 4}, 1);
    const Tensor keys = random({2, 5, 6}, 2);
    const Tensor values = random({2, 5, 3}, 3);
    for (const bool bias : {true, false}) {
        MultiHeadAttention layer(
            {.dim = 4, .heads = 2, .key_dim = 6, .value_dim = 3, .bias = bias});
        layer.to(DType::f64);
        CHECK_EQ(layer(x, {.keys = keys, .values = values}).shape(), Shape{2, 3, 4});
        check_module_gradients(
            layer, [&](const Tensors& t) { return layer(t[0], {.keys = t[1], .values = t[2]}); },
            {x.clone(), keys.clone(), values.clone()});
    }
}

TEST_CASE("MultiHeadAttention: the packed projection is the three of them") {
    MultiHeadAttention packed({.dim = 4, .heads = 2});
    packed.to(DType::f64);
    const Tensor x = random({2, 3, 4}, 1);
    const Tensor other = random({2, 5, 4}, 2);
    const Tensor more = random({2, 5, 4}, 3);
    CHECK(close(packed(x), packed(x, {.keys = x})));
    CHECK(close(packed(x), packed(x, {.keys = x, .values = x})));
    CHECK(close(packed(x, {.keys = other}), packed(x, {.keys = other, .values = other})));
    CHECK_FALSE(close(packed(x, {.keys = other}), packed(x, {.keys = other, .values = more})));
    check_module_gradients(
        packed, [&](const Tensors& t) { return packed(t[0], {.keys = t[1], .values = t[2]}); },
        {x.clone(), other.clone(), more.clone()});
    check_module_gradients(packed, [&](const Tensors& t) { return packed(t[0], {.keys = t[1]}); },
                           {x.clone(), other.clone()});
}

TEST_CASE("MultiHeadAttention: masks broadcast over batch and heads") {
    MultiHeadAttention layer({.dim = 4, .heads = 2});
    layer.to(DType::f64);
    const Tensor x = random({2, 3, 4});
    MultiHeadAttention causal({.dim = 4, .heads = 2, .causal = true});
    causal.qkv->weight = layer.qkv->weight;
    causal.qkv->bias = layer.qkv->bias;
    causal.output.weight = layer.output.weight;
    causal.output.bias = layer.output.bias;
    CHECK(close(causal(x), layer(x, {.mask = causal_mask(3, 3)})));

    // Padding has no influence: sequence 1 has two tokens.
    const Tensor mask = length_mask(tensor<std::int64_t>({3, 2}), 3);
    const Tensor y = layer(x, {.mask = mask});
    Tensor changed = x.clone();
    changed.mutable_data<double>()[5 * 4] += 10;  // x[1, 2, 0]
    const Tensor z = layer(changed, {.mask = mask});
    CHECK(same_bits(views::slice(y, 1, 0, 2), views::slice(z, 1, 0, 2)));
    CHECK_FALSE(same_bits(y, z));

    // A fully masked sequence gives the output's bias, and no NaN in backward.
    const Tensor nothing = length_mask(tensor<std::int64_t>({3, 0}), 3);
    const Tensor rest = views::slice(layer(x, {.mask = nothing}), 0, 1, 2);
    CHECK(close(rest, views::expand(layer.output.bias, {1, 3, 4})));
    check_module_gradients(layer, [&](const Tensors& t) { return layer(t[0], {.mask = nothing}); },
                           {x.clone()});
}

TEST_CASE("MultiHeadAttention: what a call lets one see") {
    MultiHeadAttention layer({.dim = 6, .heads = 3, .causal = true});
    layer.to(DType::f64);
    const Tensor x = random({2, 4, 6});
    AttentionRecord record;
    const Tensor y = layer(x, {.record = &record});
    CHECK(same_bits(y, layer(x)));
    CHECK_EQ(record.weights.shape(), Shape{2, 3, 4, 4});
    CHECK_EQ(record.heads.shape(), Shape{2, 3, 4, 2});
    CHECK_EQ(record.weights.at({1, 2, 0, 0}), 1);
    CHECK_EQ(record.weights.at({1, 2, 0, 1}), 0);
    CHECK(close(sum(record.weights, {-1}), ones({2, 3, 4}, DType::f64)));
    Tape tape;
    AttentionRecord recorded;
    const Tensor z = layer(x, {.record = &recorded});
    CHECK(same_bits(y, z));
    CHECK(same_bits(record.weights, recorded.weights));
    CHECK_FALSE(tape.follows(recorded.weights));
    CHECK_FALSE(tape.follows(recorded.heads));
}

TEST_CASE("MultiHeadAttention: a cache gives what the whole sequence gives") {
    for (const bool with_rotary : {false, true}) {
        MultiHeadAttention layer({.dim = 8,
                                  .heads = 2,
                                  .causal = true,
                                  .positions = with_rotary ? Positions::rotary : Positions::none});
        layer.to(DType::f64);
        const Tensor x = random({2, 70, 8});  // longer than the initial cache
        const Tensor whole = layer(x);
        KeyValueCache cache;
        for (std::int64_t t = 0; t < 70;) {
            const std::int64_t step = t == 0 ? 5 : 1;
            const Tensor y = layer(views::slice(x, 1, t, t + step), {.cache = &cache});
            CHECK(close(y, views::slice(whole, 1, t, t + step)));
            t += step;
            CHECK_EQ(cache.length(), t);
        }
        // Sequence 1 alone, twice.
        cache.select(tensor<std::int64_t>({1, 1}));
        CHECK_EQ(cache.keys().shape(), Shape{2, 2, 70, 4});
        CHECK(same_bits(views::slice(cache.keys(), 0, 0, 1), views::slice(cache.keys(), 0, 1, 2)));
    }
}

TEST_CASE("MultiHeadAttention: a cache of other vectors is filled once") {
    for (const std::int64_t key_dim : {4, 6}) {
        MultiHeadAttention layer({.dim = 4, .heads = 2, .key_dim = key_dim});
        layer.to(DType::f64);
        const Tensor x = random({2, 3, 4}, 1);
        const Tensor keys = random({2, 5, key_dim}, 2);
        const Tensor values = key_dim == 4 ? Tensor() : random({2, 5, 4}, 3);
        const Tensor whole = layer(x, {.keys = keys, .values = values});
        KeyValueCache cache;
        for (std::int64_t t = 0; t < 3; ++t) {
            const Tensor y = layer(views::slice(x, 1, t, t + 1),
                                   {.keys = keys, .values = values, .cache = &cache});
            CHECK(close(y, views::slice(whole, 1, t, t + 1)));
            CHECK_EQ(cache.length(), 5);
        }
    }
}

TEST_CASE("KeyValueCache: what it refuses") {
    KeyValueCache cache;
    CHECK(cache.empty());
    const Tensor x = ones({2, 3, 4, 5});
    cache.append(x, x);
    check_throws<ShapeError>(
        [&] {
            cache.append(ones({1, 3, 4, 5}), x);
        },
        "KeyValueCache: keys f32 [1, 3, 4, 5] do not match the earlier ones, f32 [2, 3, 32, 5]");
    check_throws<ShapeError>(
        [&] {
            cache.append(x, ones({2, 3, 1, 5}));
        },
        "KeyValueCache: 4 keys for 1 values");
    check_throws<ShapeError>(
        [&] {
            cache.append(ones({4, 5}), x);
        },
        "KeyValueCache: needs keys [B, H, T, D], got [4, 5]");
    CHECK_THROWS_AS(cache.select(tensor<std::int64_t>({2})), IndexError);
    Tensor leaf = ones({2, 3, 1, 5});
    leaf.set_requires_grad();
    Tape tape;
    check_throws<AutogradError>([&] { cache.append(leaf, leaf); },
                                "KeyValueCache: a tape records the keys or values, but a cache "
                                "would detach them; use it under a NoGradGuard");
    CHECK_EQ(cache.length(), 4);
}

TEST_CASE("MultiHeadAttention: its settings count heads") {
    Generator g(1);
    const auto said = [&](std::int64_t heads, bool causal) {
        return MultiHeadAttention({.dim = 4, .heads = heads, .causal = causal}, g).summary();
    };
    CHECK(said(1, false).starts_with("MultiHeadAttention(1 head) "));
    CHECK(said(2, true).starts_with("MultiHeadAttention(2 heads, causal) "));
}

TEST_CASE("MultiHeadAttention: heads are dropped whole, and the expectation is kept") {
    Generator generator(5);
    MultiHeadAttention layer({.dim = 8, .heads = 4, .head_dropout = 0.25, .bias = false},
                             generator);
    layer.output.weight.copy_(eye(8));  // the heads unchanged
    const Tensor x = random({1000, 1, 8}, 3, DType::f32);
    const Tensor y = layer(x);
    layer.eval();
    const Tensor whole = layer(x);
    std::int64_t dropped = 0;
    const auto a = y.to_vector<float>();
    const auto b = whole.to_vector<float>();
    for (std::size_t head = 0; head < 4000; ++head) {
        const bool zero = a[2 * head] == 0 && a[2 * head + 1] == 0;
        dropped += zero ? 1 : 0;
        for (std::size_t i = 2 * head; i < 2 * head + 2; ++i) {
            CHECK(a[i] == doctest::Approx(zero ? 0 : b[i] / 0.75F).epsilon(1e-5));
        }
    }
    CHECK(std::abs(static_cast<double>(dropped) / 4000 - 0.25) < 0.03);
}

TEST_CASE("MultiHeadAttention: rotary positions see distances alone") {
    MultiHeadAttention layer({.dim = 8, .heads = 2, .positions = Positions::rotary});
    layer.to(DType::f64);
    check_module_gradients(layer, [&](const Tensors& t) { return layer(t[0]); },
                           {random({1, 4, 8})});
}

TEST_CASE("MultiHeadAttention: another form") {
    struct Mean : AttentionForm {
        Mean() : AttentionForm("Mean") {}
        Tensor operator()(const Tensor&, const Tensor&, const Tensor& v,
                          const AttentionOptions&) const override {
            return mean(v, {2}, true) + zeros(v.shape(), v.dtype());
        }
    };
    MultiHeadAttention layer(
        {.dim = 4, .heads = 2, .form = [] { return std::make_unique<Mean>(); }});
    AttentionRecord record;
    const Tensor y = layer(random({1, 3, 4}, 1, DType::f32), {.record = &record});
    CHECK_FALSE(record.weights.defined());
    CHECK(same_bits(views::slice(y, 1, 0, 1), views::slice(y, 1, 2, 3)));
}

TEST_CASE("MultiHeadAttention: heads of any width, another scale, biases by part") {
    MultiHeadAttention layer({.dim = 4,
                              .heads = 2,
                              .kv_heads = 1,
                              .head_dim = 6,
                              .causal = true,
                              .bias = false,
                              .output_bias = true,
                              .scale = 1.0,
                              .positions = Positions::rotary,
                              .qk_norm = QKNorm::rms});
    CHECK_EQ(layer.qkv->weight.shape(), Shape{24, 4});
    CHECK_EQ(layer.output.weight.shape(), Shape{4, 12});
    CHECK_FALSE(layer.qkv->bias.defined());
    CHECK_EQ(layer.output.bias.shape(), Shape{4});
    CHECK_EQ(layer.query_norm->weight.shape(), Shape{6});
    layer.to(DType::f64);
    const Tensor x = random({2, 5, 4}, 1);
    check_module_gradients(layer, [&](const Tensors& t) { return layer(t[0]); }, {x.clone()});
    // The scale multiplies scores: the usual one, given, changes nothing, and 1 is not the usual.
    MultiHeadAttentionConfig config = layer.config();
    const auto with = [&](std::optional<double> scale) {
        config.scale = scale;
        Generator generator(3);
        MultiHeadAttention other(config, generator);
        other.to(DType::f64);
        return other(x);
    };
    CHECK(close(with({}), with(1 / std::sqrt(6.0))));
    CHECK_FALSE(close(with({}), with(1.0)));
}

TEST_CASE("MultiHeadAttention: a window hides what is further back, in any mask") {
    const auto layer_of = [](std::int64_t window) {
        Generator generator(5);
        auto layer = std::make_unique<MultiHeadAttention>(
            MultiHeadAttentionConfig{.dim = 4, .heads = 2, .causal = true, .window = window},
            generator);
        layer->to(DType::f64);
        return layer;
    };
    const auto windowed = layer_of(2), free = layer_of(0);
    const Tensor x = random({2, 5, 4}, 1);
    CHECK(close((*windowed)(x), (*free)(x, {.mask = window_mask(5, 5, 2)})));
    CHECK_FALSE(close((*windowed)(x), (*free)(x)));
    CHECK(close((*layer_of(5))(x), (*free)(x)));
    // With a mask of the caller's, of either kind.
    const Tensor padding = length_mask(tensor<std::int64_t>({5, 3}), 5);
    const Tensor both = logical_and(padding, window_mask(5, 5, 2));
    CHECK(close((*windowed)(x, {.mask = padding}), (*free)(x, {.mask = both})));
    const Tensor added = added_mask(padding, zeros({5, 5}, DType::f64));
    CHECK(close((*windowed)(x, {.mask = added}), (*free)(x, {.mask = both})));
    // Queries that follow a cache.
    const NoGradGuard no_grad;
    const Tensor whole = (*windowed)(x);
    KeyValueCache cache;
    for (std::int64_t t = 0; t < 5; ++t) {
        const Tensor next = (*windowed)(views::slice(x, 1, t, t + 1), {.cache = &cache});
        CHECK(close(next, views::slice(whole, 1, t, t + 1)));
    }
}

TEST_CASE("MultiHeadAttention: what it refuses") {
    const MultiHeadAttention layer({.dim = 4, .heads = 2});
    const Tensor x = ones({2, 3, 4});
    check_throws<ShapeError>(
        [&] {
            layer(x, {.keys = ones({2, 5, 3})});
        },
        "MultiHeadAttention: needs keys [B, T, 4], got [2, 5, 3]");
    check_throws<ShapeError>(
        [&] {
            layer(x, {.keys = ones({1, 5, 4})});
        },
        "MultiHeadAttention: keys [1, 5, 4] have batch size 1, the queries 2");
    check_throws<ShapeError>(
        [&] {
            layer(x, {.keys = ones({2, 5, 4}), .values = ones({2, 6, 4})});
        },
        "attention: 5 keys [2, 2, 5, 2] for 6 values [2, 2, 6, 2]");
    check_throws<ValueError>([&] { layer(x, {.values = x}); },
                             "MultiHeadAttention: values were given without keys");
    check_throws<ShapeError>(
        [&] {
            layer(x, {.mask = ones({2, 3}, DType::boolean)});
        },
        "attention: mask: shapes do not broadcast: [2, 3] and [2, 2, 3, 3] (axis -2: 2 against 3)");
    check_throws<ShapeError>(
        [&] {
            layer(x, {.mask = ones({1, 1, 4, 3}, DType::boolean)});
        },
        "attention: mask: shapes do not broadcast: [1, 1, 4, 3] and [2, 2, 3, 3] (axis -2: 4 "
        "against 3)");
    check_throws<DTypeError>(
        [&] {
            layer(x, {.mask = ones({3, 3}, DType::i64)});
        },
        "attention: the mask is i64; needs bool or f32");
    check_throws<ValueError>([] { MultiHeadAttention({.dim = 4, .key_dim = -1}); },
                             "MultiHeadAttention: key_dim -1 and value_dim 4 must be positive");
    check_throws<ValueError>([] { MultiHeadAttention({.dim = 4, .head_dropout = 1.5}); },
                             "MultiHeadAttention: head dropout must be in [0, 1], got 1.5");
    check_throws<ValueError>(
        [] { MultiHeadAttention({.dim = 6, .heads = 2, .positions = Positions::rotary}); },
        "rotary: numbers are rotated in pairs, but a share of 1 of a head's 3 numbers is 3");
    const MultiHeadAttention turning({.dim = 4, .heads = 2, .positions = Positions::rotary});
    check_throws<ValueError>(
        [&] { turning(x, {.keys = x}); },
        "MultiHeadAttention: rotary positions need self-attention, but separate keys were given");
}
