// Encoder, decoder, and the Transformer made of both. tests/torch compares their numbers with
// PyTorch's; here are gradients, masks, caches and errors.
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/attention/masks.h>
#include <tapestry/nn/models/transformer.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/module_gradients.h>

using namespace tapestry;
using test::check_module_gradients;
using test::check_throws;
using test::difference;
using test::random;
using test::plain::numbers;

namespace {

constexpr double kExact = 1e-12;

bool close(const Tensor& a, const Tensor& b) { return difference(a, numbers(b)) < kExact; }

const TransformerConfig kSmall{.source_vocab = 7,
                               .target_vocab = 5,
                               .dim = 8,
                               .heads = 2,
                               .layers = 2,
                               .hidden = 12,
                               .dropout = 0,
                               .padding_id = 0,
                               .label_smoothing = 0.1};

Tensor ids(const std::vector<std::int64_t>& values, const Shape& shape) {
    return tensor(values, shape);
}

}  // namespace

TEST_CASE("Encoder and Decoder: gradients through a whole stack, in both orders") {
    for (const bool norm_first : {false, true}) {
        const TransformerLayerConfig layer{.dim = 4,
                                           .heads = 2,
                                           .hidden = 6,
                                           .activation = Activation::gelu_erf,
                                           .norm_first = norm_first};
        Encoder encoder({.layers = 2, .layer = layer, .final_norm = norm_first});
        check_module_gradients(encoder, [&](const Tensors& t) { return encoder(t[0]); },
                               {random({2, 3, 4})});
        Decoder decoder({.layers = 2, .layer = layer, .final_norm = norm_first});
        check_module_gradients(decoder, [&](const Tensors& t) { return decoder(t[0], t[1]); },
                               {random({2, 3, 4}), random({2, 5, 4}, 2)});
    }
}

TEST_CASE("Encoder: records and caches, one per layer") {
    Encoder encoder({.layers = 3, .layer = {.dim = 4, .heads = 2, .causal = true}});
    encoder.to(DType::f64);
    const Tensor x = random({1, 4, 4});
    std::vector<AttentionRecord> records;
    const Tensor y = encoder(x, {.records = &records});
    REQUIRE_EQ(records.size(), 3);
    CHECK_EQ(records[2].weights.shape(), Shape{1, 2, 4, 4});
    std::vector<KeyValueCache> caches;
    for (std::int64_t t = 0; t < 4; ++t) {
        const Tensor step = encoder(views::slice(x, 1, t, t + 1), {.caches = &caches});
        CHECK(close(step, views::slice(y, 1, t, t + 1)));
    }
    caches.pop_back();
    check_throws<ShapeError>([&] { encoder(x, {.caches = &caches}); },
                             "TransformerStack: 2 caches or records for 3 layers");
    check_throws<ValueError>([] { Encoder({.layers = 0, .layer = {.dim = 4}}); },
                             "TransformerStack: layers must be at least 1, got 0");
    check_throws<ValueError>([] { Decoder({.layers = 0, .layer = {.dim = 4}}); },
                             "Decoder: layers must be at least 1, got 0");
}

TEST_CASE("Encoder: recomputed to the same bits, dropout included, from less memory") {
    std::vector<std::vector<float>> gradients;
    std::vector<std::size_t> kept;
    for (const bool recompute : {false, true}) {
        Generator generator(1);
        Encoder encoder({.layers = 3,
                         .layer = {.dim = 16, .heads = 4, .dropout = 0.2, .head_dropout = 0.1},
                         .recompute = recompute},
                        generator);
        const Tensor x = random({4, 12, 16}, 1, DType::f32);
        const Tensor mask = length_mask(tensor<std::int64_t>({12, 7, 1, 0}), 12);
        Tape tape;
        const Tensor loss = sum(square(encoder(x, {.mask = mask})));
        kept.push_back(tape.saved_bytes());
        tape.backward(loss);
        gradients.emplace_back();
        for (const Tensor& p : encoder.parameters()) {
            const auto values = p.grad().to_vector<float>();
            gradients.back().insert(gradients.back().end(), values.begin(), values.end());
        }
    }
    CHECK(gradients[0] == gradients[1]);
    CHECK(4 * kept[1] < kept[0]);
}

TEST_CASE("Transformer: gradients of its loss") {
    for (const bool shared : {false, true}) {
        TransformerConfig config = kSmall;
        config.share_embeddings = shared;
        if (shared) config.target_vocab = config.source_vocab;
        Transformer model(config);
        const Tensor source = ids({1, 2, 3, 6, 4, 0}, {2, 3});  // the second is padded
        const Tensor target = ids({1, 2, 1, 4}, {2, 2});
        const Tensor next = ids({2, 3, 4, 0}, {2, 2});
        GradcheckOptions options = test::gradcheck_options();
        options.method = GradcheckMethod::directions;
        check_module_gradients(
            model, [&](const Tensors&) { return model.loss(source, target, next); }, {}, options);
        CHECK_EQ(model.source_embedding.weight.leaf() == model.target_embedding.weight.leaf(),
                 shared);
        CHECK(model.head.weight.leaf() == model.target_embedding.weight.leaf());
    }
}

TEST_CASE("Transformer: shared keys and values, norms of queries and keys, turned halves") {
    TransformerConfig config = kSmall;
    config.kv_heads = 1;
    config.positions = Positions::rotary;
    config.rotary_base = 100;
    config.rotary_share = 0.5;
    config.rotary_pairs = RotaryPairs::halves;
    config.qk_norm = QKNorm::rms;
    Transformer model(config);
    for (const MultiHeadAttention* attention :
         {&model.encoder.layers[0]->attention, &model.decoder.layers[0]->attention,
          &model.decoder.layers[1]->cross_attention}) {
        CHECK_EQ(attention->config().kv_heads, 1);
        CHECK_EQ(attention->qkv->weight.shape(), Shape{8 + 2 * 4, 8});
        CHECK_EQ(attention->key_norm->weight.shape(), Shape{4});
        const bool within = attention != &model.decoder.layers[1]->cross_attention;
        CHECK(attention->config().positions == (within ? Positions::rotary : Positions::none));
        CHECK_EQ(attention->config().rotary.base, 100);
        CHECK_EQ(attention->config().rotary.share, 0.5);
        CHECK(attention->config().rotary.pairs == RotaryPairs::halves);
    }
    const Tensor source = ids({1, 2, 3, 6, 4, 0}, {2, 3});
    const Tensor target = ids({1, 2, 1, 4}, {2, 2});
    const Tensor next = ids({2, 3, 4, 0}, {2, 2});
    GradcheckOptions options = test::gradcheck_options();
    options.method = GradcheckMethod::directions;
    check_module_gradients(
        model, [&](const Tensors&) { return model.loss(source, target, next); }, {}, options);
}

TEST_CASE("Transformer: nothing is seen of padding, nor of what comes later") {
    Transformer model(kSmall);
    model.to(DType::f64);
    model.eval();
    const Tensor target = ids({1, 2, 3}, {1, 3});
    const Tensor logits = model(ids({1, 2, 3}, {1, 3}), target);
    CHECK_EQ(logits.shape(), Shape{1, 3, 5});
    CHECK(close(logits, model(ids({1, 2, 3, 0, 0}, {1, 5}), target)));
    const Tensor other = model(ids({1, 2, 3}, {1, 3}), ids({1, 2, 4}, {1, 3}));
    CHECK(close(views::slice(logits, 1, 0, 2), views::slice(other, 1, 0, 2)));
    CHECK_FALSE(close(logits, other));
}

TEST_CASE("Transformer: a cache gives what the whole target gives") {
    struct Kind {
        Positions positions;
        std::int64_t kv_heads = 0;
        QKNorm qk_norm = QKNorm::none;
    };
    for (const Kind& kind :
         {Kind{Positions::sinusoidal}, Kind{Positions::learned}, Kind{Positions::rotary},
          Kind{Positions::alibi}, Kind{Positions::relative}, Kind{Positions::none},
          Kind{Positions::rotary, 1, QKNorm::rms}, Kind{Positions::relative, 1, QKNorm::layer}}) {
        TransformerConfig config = kSmall;
        config.positions = kind.positions;
        config.kv_heads = kind.kv_heads;
        config.qk_norm = kind.qk_norm;
        config.max_length = 6;
        config.norm_first = true;
        Transformer model(config);
        model.to(DType::f64);
        model.eval();
        const Tensor source = ids({1, 2, 3, 6, 4, 0}, {2, 3});
        const Tensor target = ids({1, 2, 3, 4, 1, 4, 3, 2}, {2, 4});
        const Tensor memory = model.encode(source);
        std::vector<DecoderRecord> records;
        const Tensor whole = model.decode(target, memory, source, {.records = &records});
        REQUIRE_EQ(records.size(), 2);
        CHECK_EQ(records[1].memory.weights.shape(), Shape{2, 2, 4, 3});
        CHECK_EQ(records[1].memory.weights.at({1, 0, 2, 2}), 0);  // padding
        std::vector<DecoderCache> caches;
        for (std::int64_t t = 0; t < 4; ++t) {
            const Tensor step = model.decode(views::slice(target, 1, t, t + 1), memory, source,
                                             {.caches = &caches});
            CHECK(close(step, views::slice(whole, 1, t, t + 1)));
        }
        const std::int64_t kept = kind.kv_heads == 0 ? 2 : kind.kv_heads;
        CHECK_EQ(caches[1].self.keys().shape(), Shape{2, kept, 4, 4});
        CHECK_EQ(caches[1].memory.keys().shape(), Shape{2, kept, 3, 4});
    }
}

TEST_CASE("Transformer: label smoothing and padding in the loss") {
    TransformerConfig config = kSmall;
    config.label_smoothing = 0;
    Transformer model(config);
    model.to(DType::f64);
    const Tensor source = ids({1, 2, 3}, {1, 3});
    const Tensor target = ids({1, 2}, {1, 2});
    const double first = model.loss(source, target, ids({3, 0}, {1, 2})).item();
    const double both = model.loss(source, target, ids({3, 4}, {1, 2})).item();
    const Tensor logits = model(source, target);
    const auto expected = [&](std::int64_t t, std::int64_t id) {
        double total = 0;
        for (std::int64_t v = 0; v < 5; ++v) total += std::exp(logits.at({0, t, v}));
        return std::log(total) - logits.at({0, t, id});
    };
    CHECK(first == doctest::Approx(expected(0, 3)).epsilon(1e-12));
    CHECK(both == doctest::Approx((expected(0, 3) + expected(1, 4)) / 2).epsilon(1e-12));
}

TEST_CASE("Transformer: what it refuses") {
    Transformer model(kSmall);
    const Tensor good = ids({1, 2}, {1, 2});
    check_throws<ShapeError>(
        [&] {
            model(zeros({0, 3}, DType::i64), good);
        },
        "Transformer: source ids [0, 3] are an empty batch");
    check_throws<ShapeError>(
        [&] {
            model(good, zeros({1, 0}, DType::i64));
        },
        "Transformer: target ids [1, 0] are empty sequences");
    check_throws<ShapeError>([&] { model(good, zeros({2}, DType::i64)); },
                             "Transformer: needs target ids [B, T], got [2]");
    check_throws<DTypeError>(
        [&] {
            model(good, ones({1, 2}));
        },
        "Transformer: needs target ids of type i64, got f32");
    check_throws<ShapeError>(
        [&] {
            model(good, ids({1, 2}, {2, 1}));
        },
        "MultiHeadAttention: keys [1, 2, 8] have batch size 1, the queries 2");
    check_throws<IndexError>(
        [&] {
            model(good, ids({1, 5}, {1, 2}));
        },
        "embedding: ids[0, 1] = 5 is not an index from 0 to 4");
    const auto wrong = [](auto change) {
        return [change] {
            TransformerConfig config = kSmall;
            change(config);
            Transformer{config};
        };
    };
    check_throws<ValueError>(wrong([](TransformerConfig& c) { c.source_vocab = 0; }),
                             "Transformer: source_vocab must be positive, got 0");
    check_throws<ValueError>(wrong([](TransformerConfig& c) { c.heads = 3; }),
                             "MultiHeadAttention: 3 heads do not divide dim 8 (remainder 2)");
    check_throws<ValueError>(
        wrong([](TransformerConfig& c) { c.kv_heads = 3; }),
        "MultiHeadAttention: 3 heads of keys and values do not divide 2 heads");
    check_throws<ValueError>(wrong([](TransformerConfig& c) { c.share_embeddings = true; }),
                             "Transformer: shared embeddings need one vocabulary, got 7 and 5");
    check_throws<ValueError>(
        wrong([](TransformerConfig& c) { c.positions = Positions::learned; }),
        "Transformer: max_length of learned positions must be positive, got 0");
    check_throws<ValueError>(wrong([](TransformerConfig& c) { c.label_smoothing = 2; }),
                             "Transformer: label smoothing must be in [0, 1], got 2");
    TransformerConfig config = kSmall;
    config.positions = Positions::learned;
    config.max_length = 2;
    Transformer shorter(config);
    check_throws<ShapeError>(
        [&] {
            shorter(ids({1, 2, 3}, {1, 3}), good);
        },
        "PositionalEncoding: positions 0 to 2 of a table of 2");
}
