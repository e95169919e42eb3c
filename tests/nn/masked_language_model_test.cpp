// Masking of words, and the model that predicts them.
#include <tapestry/tapestry.h>
#include <tapestry/tests/nn/module_gradients.h>

#include <algorithm>
#include <cmath>

using namespace tapestry;
using doctest::Approx;
using test::check_throws;

namespace {

using Ids = std::vector<std::int64_t>;

const MaskingOptions kMasking{.vocab = 50, .mask_id = 2, .special_ids = {0, 1}};
const MaskedLanguageModelConfig kTiny{
    .vocab = 7, .max_length = 5, .dim = 4, .heads = 2, .layers = 2, .hidden = 6, .dropout = 0};
const MaskedLanguageModelConfig kSmall{
    .vocab = 100, .max_length = 20, .dim = 16, .heads = 2, .layers = 3, .types = 2, .classes = 5};

Tensor random_ids(const Shape& shape, std::int64_t vocab, std::uint64_t seed = 1) {
    Generator generator(seed);
    return randint(0, vocab, shape, generator);
}

double largest_difference(const Tensor& a, const Tensor& b) {
    REQUIRE_EQ(a.shape(), b.shape());
    return max(abs(a - b)).item();
}

}  // namespace

TEST_CASE("mask_tokens: 15 % of the ordinary tokens, 80 : 10 : 10, and the targets at these") {
    Generator generator(1);
    const Tensor ids = random_ids({500, 40}, 50);
    const MaskedTokens hidden = mask_tokens(ids, kMasking, generator);
    const auto before = ids.to_vector<std::int64_t>();
    const auto after = hidden.ids.to_vector<std::int64_t>();
    const auto targets = hidden.targets.to_vector<std::int64_t>();
    double chosen = 0, masked = 0, kept = 0;
    std::vector<int> drawn(50, 0), at(40, 0);
    for (std::size_t row = 0; row < 500; ++row) {
        std::int64_t in_row = 0, ordinary = 0;
        for (std::size_t t = 0; t < 40; ++t) {
            const std::size_t i = row * 40 + t;
            if (before[i] > 2) ++ordinary;
            if (targets[i] == -100) {
                CHECK_EQ(after[i], before[i]);
                continue;
            }
            CHECK_EQ(targets[i], before[i]);
            CHECK(before[i] > 2);
            ++in_row;
            ++at[t];
            if (after[i] == 2) {
                masked += 1;
            } else if (after[i] == before[i]) {
                kept += 1;
            } else {
                ++drawn[static_cast<std::size_t>(after[i])];
            }
        }
        CHECK_EQ(in_row, std::llround(0.15 * static_cast<double>(ordinary)));
        chosen += static_cast<double>(in_row);
    }
    CHECK(std::abs(masked / chosen - 0.8) < 0.03);
    CHECK(std::abs(kept / chosen - 0.102) < 0.02);  // the random word is sometimes the same
    CHECK_EQ(drawn[0] + drawn[1] + drawn[2], 0);
    CHECK_EQ(std::count(drawn.begin() + 3, drawn.end(), 0), 0);
    CHECK(*std::min_element(at.begin(), at.end()) > 40);  // of 70.5 expected per position
    CHECK(*std::max_element(at.begin(), at.end()) < 110);
}

TEST_CASE("mask_tokens: at least one of a short sequence, none where nothing is ordinary") {
    Generator generator(3);
    const Tensor ids = tensor<std::int64_t>({{1, 7, 0, 0}, {1, 0, 0, 0}, {1, 2, 0, 0}});
    const MaskedTokens hidden = mask_tokens(ids, kMasking, generator);
    CHECK_EQ(hidden.targets.to_vector<std::int64_t>(),
             Ids{-100, 7, -100, -100, -100, -100, -100, -100, -100, -100, -100, -100});
    const auto after = hidden.ids.to_vector<std::int64_t>();
    const auto before = ids.to_vector<std::int64_t>();
    CHECK(std::equal(after.begin() + 2, after.end(), before.begin() + 2));
    MaskingOptions all = kMasking;
    all.rate = 1;
    all.masked = 1;
    all.random = 0;
    CHECK_EQ(mask_tokens(tensor<std::int64_t>({{1, 5, 6, 0}}), all, generator)
                 .ids.to_vector<std::int64_t>(),
             Ids{1, 2, 2, 0});
}

TEST_CASE("mask_tokens: the same generator, the same words") {
    Generator a(4), b(4), c(5);
    const Tensor ids = random_ids({4, 30}, 50);
    const Ids first = mask_tokens(ids, kMasking, a).ids.to_vector<std::int64_t>();
    CHECK_EQ(first, mask_tokens(ids, kMasking, b).ids.to_vector<std::int64_t>());
    CHECK(first != mask_tokens(ids, kMasking, b).ids.to_vector<std::int64_t>());
    CHECK(first != mask_tokens(ids, kMasking, c).ids.to_vector<std::int64_t>());
}

TEST_CASE("mask_tokens: what it refuses") {
    Generator generator(1);
    const auto with = [&](auto change) {
        return [&generator, change] {
            MaskingOptions options = kMasking;
            change(options);
            mask_tokens(ones({2, 3}, DType::i64), options, generator);
        };
    };
    check_throws<ValueError>(with([](MaskingOptions& o) { o.vocab = 0; }),
                             "mask_tokens: vocab must be positive, got 0");
    check_throws<ValueError>(with([](MaskingOptions& o) { o.mask_id = 50; }),
                             "mask_tokens: the mask 50 is outside the vocabulary of 50");
    check_throws<ValueError>(with([](MaskingOptions& o) { o.special_ids = {-1}; }),
                             "mask_tokens: special token -1 is outside the vocabulary of 50");
    check_throws<ValueError>(with([](MaskingOptions& o) { o.rate = 0; }),
                             "mask_tokens: rate must be in (0, 1], got 0");
    CHECK_THROWS_AS(with([](MaskingOptions& o) { o.rate = NAN; })(), ValueError);
    check_throws<ValueError>(with([](MaskingOptions& o) { o.random = 0.3; }),
                             "mask_tokens: masked 0.8 and random 0.3 must be shares of at most 1 "
                             "together");
    CHECK_THROWS_AS(with([](MaskingOptions& o) { o.masked = NAN; })(), ValueError);
    const auto given = [&](const Tensor& ids) {
        return [&generator, ids] { mask_tokens(ids, kMasking, generator); };
    };
    check_throws<IndexError>(given(tensor<std::int64_t>({{3, 4}, {5, 50}})),
                             "mask_tokens: id 50 at [1, 1] is outside the vocabulary of 50");
    CHECK_THROWS_AS(given(ones({3}, DType::i64))(), ShapeError);
    CHECK_THROWS_AS(given(ones({0, 3}, DType::i64))(), ShapeError);
    CHECK_THROWS_AS(given(ones({3, 0}, DType::i64))(), ShapeError);
    CHECK_THROWS_AS(given(ones({3, 3}))(), DTypeError);
    CHECK_THROWS_AS(given(Tensor())(), Error);
}

TEST_CASE("MaskedLanguageModel: every gradient, of both heads") {
    MaskedLanguageModelConfig config = kTiny;
    config.types = 2;
    config.classes = 3;
    config.padding_id = 0;
    MaskedLanguageModel model(config);
    test::randomise(model);
    const Tensor ids = tensor<std::int64_t>({{1, 5, 4, 6, 2}, {1, 3, 5, 0, 0}});
    const Tensor types = tensor<std::int64_t>({{0, 0, 1, 1, 1}, {1, 0, 1, 0, 0}});
    const Tensor targets =
        tensor<std::int64_t>({{-100, 3, -100, 6, -100}, {1, -100, 2, -100, -100}});
    // One function of all outputs: the loss of the words and the logits of the classes.
    test::check_module_gradients(model, [&] {
        const MaskedLanguageModelInputs inputs{.types = types};
        return model.classify(ids, inputs) + model.loss(ids, targets, inputs);
    });
    MaskedLanguageModel plain(kTiny);
    test::randomise(plain);
    test::check_module_gradients(plain, [&] { return plain(ids); });
}

TEST_CASE("MaskedLanguageModel: the logits are the formula's") {
    MaskedLanguageModelConfig config = kTiny;
    config.classes = 3;
    MaskedLanguageModel model(config);
    test::randomise(model);
    const Tensor ids = random_ids({2, 5}, 7);
    // Embeddings by hand; the encoder has its own tests.
    const Tensor x = embedding(model.token_embedding.weight, ids) + model.position_embedding.weight;
    const Tensor h =
        model.encoder(layer_norm(x, model.embedding_norm.weight, model.embedding_norm.bias, 1e-12));
    CHECK(largest_difference(model.encode(ids), h) < 1e-12);
    const Tensor t =
        layer_norm(gelu(linear(h, model.transform.weight, model.transform.bias), Gelu::erf),
                   model.transform_norm.weight, model.transform_norm.bias, 1e-12);
    const Tensor logits =
        matmul(t, transpose(model.token_embedding.weight, 0, 1)) + model.head.bias;
    CHECK(largest_difference(model(ids), logits) < 1e-12);
    const Tensor first = reshape(slice(h, 1, 0, 1), {2, 4});
    const Tensor pooled = tanh(linear(first, model.pooler->weight, model.pooler->bias));
    CHECK(largest_difference(model.classify(ids), linear(pooled, model.classifier->weight,
                                                         model.classifier->bias)) < 1e-12);
    for (const auto& layer : model.encoder.layers) CHECK_EQ(layer->settings(), "norm last");
}

TEST_CASE("MaskedLanguageModel: only the chosen places make the loss") {
    MaskedLanguageModel model(kTiny);
    test::randomise(model);
    const Tensor ids = random_ids({1, 5}, 7);
    const Tensor all = model(ids);
    const Tensor at_two = reshape(slice(all, 1, 2, 3), {1, 7});
    const double wanted = cross_entropy(at_two, tensor<std::int64_t>({4})).item();
    CHECK_EQ(model.loss(ids, tensor<std::int64_t>({{-100, -100, 4, -100, -100}})).item(),
             Approx(wanted).epsilon(1e-12));
    check_throws<ValueError>(
        [&] {
            model.loss(ids, full({1, 5}, -100, DType::i64));
        },
        "MaskedLanguageModel: all targets are -100: there is nothing to predict");
}

TEST_CASE("MaskedLanguageModel: it looks both ways, and not at padding") {
    MaskedLanguageModelConfig config = kTiny;
    config.padding_id = 0;
    MaskedLanguageModel model(config);
    test::randomise(model);
    const auto row = [&](const Ids& ids, std::int64_t t) {
        const auto length = static_cast<std::int64_t>(ids.size());
        return slice(model(tensor(ids, {1, length})), 1, t, t + 1);
    };
    CHECK(largest_difference(row({3, 4, 5}, 0), row({3, 4, 6}, 0)) > 1e-3);
    CHECK(largest_difference(row({3, 4, 5}, 2), row({6, 4, 5}, 2)) > 1e-3);
    CHECK(largest_difference(row({3, 4, 5}, 1), row({3, 4, 5, 0, 0}, 1)) < 1e-12);
}

TEST_CASE("MaskedLanguageModel: parameters and their names") {
    const MaskedLanguageModel model(kSmall);
    const std::int64_t c = 16;
    CHECK_EQ(model.parameter_count(), 100 * c + 20 * c + 2 * c + 2 * c + 3 * (12 * c * c + 13 * c) +
                                          c * c + 3 * c + 100 + c * c + c + 5 * c + 5);
    CHECK_EQ(model.head.weight.leaf(), model.token_embedding.weight.leaf());
    CHECK_EQ(model.settings(), "at most 20 tokens, 3 layers, 5 classes");
    CHECK_EQ(model.named_parameters()[2].first, "type_embedding.weight");
}

TEST_CASE("MaskedLanguageModel: weights start at deviation 0.02, biases at 0") {
    const MaskedLanguageModel model(kSmall);
    const auto start = model.token_embedding.weight.to_vector<double>();
    double squares = 0;
    for (const double w : start) squares += w * w;
    CHECK_EQ(std::sqrt(squares / static_cast<double>(start.size())), Approx(0.02).epsilon(0.05));
    for (const double b : model.head.bias.to_vector<double>()) CHECK_EQ(b, 0);
}

TEST_CASE("MaskedLanguageModel: one record of attention per layer") {
    const MaskedLanguageModel model(kSmall);
    std::vector<AttentionRecord> records;
    const Tensor ids = random_ids({2, 7}, 100);
    model.encode(ids, {.records = &records});
    REQUIRE_EQ(records.size(), 3);
    CHECK_EQ(records[0].weights.shape(), Shape{2, 2, 7, 7});
}

TEST_CASE("MaskedLanguageModel: types that are left out are 0") {
    MaskedLanguageModel quiet(
        {.vocab = 9, .dim = 8, .heads = 2, .layers = 1, .dropout = 0, .types = 2});
    const Tensor few = random_ids({2, 3}, 9);
    CHECK_EQ(quiet(few).to_vector<float>(),
             quiet(few, {.types = zeros({2, 3}, DType::i64)}).to_vector<float>());
}

TEST_CASE("MaskedLanguageModel: what it refuses") {
    const auto with = [](auto change) {
        return [change] {
            MaskedLanguageModelConfig config = kTiny;
            change(config);
            MaskedLanguageModel model(config);
        };
    };
    using Config = MaskedLanguageModelConfig;
    check_throws<ValueError>(with([](Config& c) { c.vocab = 0; }),
                             "MaskedLanguageModel: vocab must be positive, got 0");
    check_throws<ValueError>(with([](Config& c) { c.max_length = -3; }),
                             "MaskedLanguageModel: max_length must be positive, got -3");
    check_throws<ValueError>(with([](Config& c) { c.heads = 3; }),
                             "MaskedLanguageModel: 3 heads do not divide dim 4 (remainder 1)");
    check_throws<ValueError>(with([](Config& c) { c.classes = -1; }),
                             "MaskedLanguageModel: types and classes must be >= 0, got 0 and -1");
    CHECK_THROWS_AS(with([](Config& c) { c.dropout = 2; })(), ValueError);
    CHECK_THROWS_AS(with([](Config& c) { c.hidden = -1; })(), ValueError);
    CHECK_THROWS_AS(with([](Config& c) { c.deviation = -1; })(), ValueError);

    const MaskedLanguageModel model(kTiny);
    const Tensor ids = random_ids({2, 5}, 7);
    const auto given = [&](const Tensor& x) { return [&model, x] { model(x); }; };
    check_throws<ShapeError>(given(random_ids({5}, 7)),
                             "MaskedLanguageModel: needs ids [B, T], got [5]");
    check_throws<ShapeError>(given(random_ids({0, 5}, 7)),
                             "MaskedLanguageModel: ids [0, 5] are an empty batch");
    check_throws<ShapeError>(given(random_ids({2, 0}, 7)),
                             "MaskedLanguageModel: ids [2, 0] are empty sequences");
    check_throws<ShapeError>(given(random_ids({2, 6}, 7)),
                             "PositionalEncoding: positions 0 to 5 of a table of 5");
    CHECK_THROWS_AS(given(ones({2, 5}))(), DTypeError);
    CHECK_THROWS_AS(given(Tensor())(), Error);
    CHECK_THROWS_AS(given(full({2, 5}, 7, DType::i64))(), IndexError);
    check_throws<ValueError>([&] { model.classify(ids); },
                             "MaskedLanguageModel: classify: the model has no classes");
    check_throws<ValueError>([&] { model(ids, {.types = ids}); },
                             "MaskedLanguageModel: types given to a model that has none");
    MaskedLanguageModelConfig config = kTiny;
    config.types = 2;
    const MaskedLanguageModel typed(config);
    check_throws<ShapeError>(
        [&] {
            typed(ids, {.types = zeros({2, 4}, DType::i64)});
        },
        "MaskedLanguageModel: types [2, 4] for ids [2, 5]");
    CHECK_THROWS_AS(typed(ids, {.types = full({2, 5}, 2, DType::i64)}), IndexError);
    CHECK_THROWS_AS(model.loss(ids, random_ids({2, 4}, 7)), ShapeError);
    CHECK_THROWS_AS(model.loss(ids, Tensor()), Error);
    CHECK_THROWS_AS(model.loss(ids, full({2, 5}, 7, DType::i64)), IndexError);
}

TEST_CASE("MaskedLanguageModel: the same bits with one and two threads, after three steps") {
    const auto parameters_after = [](int threads) {
        const ThreadsGuard some(threads);
        Generator generator(1);
        MaskedLanguageModel model(
            {.vocab = 50, .max_length = 40, .dim = 32, .heads = 4, .layers = 2}, generator);
        AdamW optimizer(decay_groups(model, 0.1), {.lr = 1e-3});
        for (int step = 0; step < 3; ++step) {
            const MaskedTokens hidden = mask_tokens(random_ids({16, 40}, 50), kMasking, generator);
            optimizer.zero_grad();
            Tape tape;
            tape.backward(model.loss(hidden.ids, hidden.targets));
            optimizer.step();
        }
        return test::numbers_of<float>(model);
    };
    CHECK(parameters_after(1) == parameters_after(2));
}
