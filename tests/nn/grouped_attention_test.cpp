// Shared key and value heads, and QK-norm: against attention with a copy per head, against
// formulas, with the cache and in a whole model.
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/attention/sparse_attention.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/norm.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/module_gradients.h>

using namespace tapestry;
using test::check_module_gradients;
using test::check_throws;
using test::close;
using test::random;

namespace {

// The rows of a projection to G key or value heads, copied for H heads: head h gets those of head h
// G / H.
Tensor copies(const Tensor& rows, std::int64_t shared, std::int64_t heads) {
    const std::int64_t width = rows.size(0) / shared;
    Tensors all;
    for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t from = h * shared / heads * width;
        all.push_back(views::slice(rows, 0, from, from + width));
    }
    return concat(all, 0);
}

// Attention with copies of the shared heads of `layer`.
std::unique_ptr<MultiHeadAttention> with_copies(const MultiHeadAttention& layer) {
    MultiHeadAttentionConfig config = layer.config();
    const std::int64_t shared = config.kv_heads, dim = config.dim;
    config.kv_heads = config.heads;
    auto result = std::make_unique<MultiHeadAttention>(config);
    result->to(DType::f64);
    const std::int64_t keys = (layer.qkv->weight.size(0) - dim) / 2;
    const auto spread = [&](const Tensor& packed) {
        const Tensors parts = split(packed, {dim, keys, keys}, 0);
        return concat({parts[0], copies(parts[1], shared, config.heads),
                       copies(parts[2], shared, config.heads)},
                      0);
    };
    result->qkv->weight.copy_(spread(layer.qkv->weight.detach()));
    result->qkv->bias.copy_(spread(layer.qkv->bias.detach()));
    result->output.weight.copy_(layer.output.weight);
    result->output.bias.copy_(layer.output.bias);
    return result;
}

}  // namespace

TEST_CASE("grouped attention: heads that share keys are heads with copies of them") {
    for (const std::int64_t shared : {1, 2}) {
        MultiHeadAttention layer({.dim = 12,
                                  .heads = 4,
                                  .kv_heads = shared,
                                  .causal = true,
                                  .positions = Positions::rotary,
                                  .rotary = {.share = 0.7}});
        test::randomise(layer);
        CHECK_EQ(layer.qkv->weight.shape(), Shape{12 + 2 * shared * 3, 12});
        const Tensor x = random({2, 5, 12});
        const auto whole = with_copies(layer);
        AttentionRecord record, own;
        CHECK(close(layer(x, {.record = &record}), (*whole)(x, {.record = &own})));
        CHECK(close(record.weights, own.weights));
        CHECK(close(record.heads, own.heads));
        CHECK_EQ(layer.settings(),
                 fmt::format("4 heads over {} of keys and values, causal", shared));
    }
    MultiHeadAttention layer({.dim = 8, .heads = 4, .kv_heads = 2});
    layer.to(DType::f64);
    check_module_gradients(layer, [&](const Tensors& t) { return layer(t[0]); },
                           {random({2, 3, 8})});
}

TEST_CASE("grouped attention: to other vectors") {
    for (const std::int64_t key_dim : {8, 6}) {
        MultiHeadAttention layer(
            {.dim = 8, .heads = 4, .kv_heads = 2, .key_dim = key_dim, .qk_norm = QKNorm::rms});
        test::randomise(layer);
        const Tensor x = random({2, 3, 8}, 1), keys = random({2, 5, key_dim}, 2),
                     values = random({2, 5, 8}, 3);
        const Tensor whole = layer(x, {.keys = keys, .values = values});
        CHECK_EQ(whole.shape(), Shape{2, 3, 8});
        KeyValueCache cache;
        for (std::int64_t t = 0; t < 3; ++t) {
            const Tensor y = layer(views::slice(x, 1, t, t + 1),
                                   {.keys = keys, .values = values, .cache = &cache});
            CHECK(close(y, views::slice(whole, 1, t, t + 1)));
        }
        CHECK_EQ(cache.keys().shape(), Shape{2, 2, 5, 2});
    }
}

TEST_CASE("grouped attention: the cache holds the shared heads, and changes nothing") {
    for (const Positions positions :
         {Positions::none, Positions::rotary, Positions::alibi, Positions::relative}) {
        for (const QKNorm norm : {QKNorm::none, QKNorm::rms, QKNorm::layer}) {
            MultiHeadAttention layer({.dim = 16,
                                      .heads = 4,
                                      .kv_heads = 2,
                                      .causal = true,
                                      .positions = positions,
                                      .qk_norm = norm});
            test::randomise(layer);
            const Tensor x = random({2, 40, 16});
            const Tensor whole = layer(x);
            KeyValueCache cache;
            for (std::int64_t t = 0; t < 40;) {
                const std::int64_t step = t == 0 ? 7 : t == 7 ? 3 : 1;
                const Tensor y = layer(views::slice(x, 1, t, t + step), {.cache = &cache});
                CHECK(close(y, views::slice(whole, 1, t, t + step)));
                t += step;
            }
            CHECK_EQ(cache.keys().shape(), Shape{2, 2, 40, 4});
            CHECK_EQ(cache.values().shape(), Shape{2, 2, 40, 4});
        }
    }
}

TEST_CASE("grouped attention: forms that want a head's own keys get copies") {
    const auto window = [] { return std::make_unique<SlidingWindowAttention>(3); };
    MultiHeadAttention layer({.dim = 8, .heads = 4, .kv_heads = 2, .causal = true, .form = window});
    test::randomise(layer);
    const Tensor x = random({2, 9, 8});
    CHECK(close(layer(x), (*with_copies(layer))(x)));
}

TEST_CASE("QK-norm: each head of queries and of keys by itself") {
    for (const QKNorm kind : {QKNorm::rms, QKNorm::layer}) {
        HeadNorm norm(kind, 5, 1e-3, true);
        test::randomise(norm);
        const Tensor x = random({2, 3, 4, 5});
        CHECK(close(norm(x), kind == QKNorm::rms ? rms_norm(x, norm.weight, 1e-3)
                                                 : layer_norm(x, norm.weight, norm.bias, 1e-3)));
        CHECK_EQ(norm.settings(), kind == QKNorm::rms ? "rms, 5" : "layer, 5");
    }
    CHECK_FALSE(HeadNorm(QKNorm::rms, 4, 1e-5, true).bias.defined());
    CHECK_FALSE(HeadNorm(QKNorm::layer, 4, 1e-5, false).bias.defined());

    // The scores do not depend on the scale of the projections.
    MultiHeadAttention layer(
        {.dim = 8, .heads = 2, .bias = false, .qk_norm = QKNorm::rms, .norm_eps = 0});
    layer.to(DType::f64);
    const Tensor x = random({1, 4, 8});
    AttentionRecord before, after;
    layer(x, {.record = &before});
    Tensor queries_and_keys = views::slice(layer.qkv->weight, 0, 0, 16);
    queries_and_keys.copy_(queries_and_keys * 100.0);
    layer(x, {.record = &after});
    CHECK(close(before.weights, after.weights));
}

TEST_CASE("grouped attention: what it refuses") {
    check_throws<ValueError>([] { MultiHeadAttention({.dim = 8, .heads = 4, .kv_heads = 3}); },
                             "MultiHeadAttention: 3 heads of keys and values do not divide 4 "
                             "heads");
    check_throws<ValueError>([] { MultiHeadAttention({.dim = 8, .heads = 4, .kv_heads = 8}); },
                             "MultiHeadAttention: 8 heads of keys and values do not divide 4 "
                             "heads");
    check_throws<ValueError>([] { MultiHeadAttention({.dim = 8, .heads = 4, .kv_heads = -2}); },
                             "MultiHeadAttention: -2 heads of keys and values do not divide 4 "
                             "heads");
    check_throws<ValueError>([] { HeadNorm(QKNorm::none, 4, 0, true); },
                             "HeadNorm: the norm must not be none");
    check_throws<ValueError>([] { HeadNorm(QKNorm::rms, 0, 0, true); },
                             "HeadNorm: size must be positive, got 0");
    const MultiHeadAttention bias({.dim = 4, .heads = 2, .positions = Positions::alibi});
    const Tensor x = random({1, 3, 4}, 1, DType::f32);
    check_throws<ValueError>(
        [&] { bias(x, {.keys = x}); },
        "MultiHeadAttention: alibi positions need self-attention, but separate keys were given");
}
