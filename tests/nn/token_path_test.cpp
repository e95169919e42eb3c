// The Inspector's record of a token's path through a model. The browser test
// (tests/npm/token_tab.js) compares its numbers, stage by stage, with a pass in plain loops.
#include <tapestry/core/views.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/models/transformer.h>
#include <tapestry/nn/models/vision_transformer.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/plain.h>
#include <tapestry/tests/nn/support.h>

#include <nlohmann/json.hpp>

#include <functional>

using namespace tapestry;

namespace {

void watch(Inspector& inspector, const std::function<Tensor()>& loss) {
    Tape tape;
    tape.backward(loss());
    inspector.finish();
}

// "add blocks.0" for each entry.
std::vector<std::string> names_of(const Inspector& inspector) {
    std::vector<std::string> names;
    for (const FollowedEntry& e : inspector.token_path().entries) {
        const InspectedEntry& entry = inspector.entries()[static_cast<std::size_t>(e.entry)];
        names.push_back(entry.name + ' ' + entry.module);
    }
    return names;
}

}  // namespace

TEST_CASE(
    "token path: a GPT's, from the embedding to the logits, without what only moves numbers") {
    Generator generator(31);
    const GPT model(
        {.vocab = 13, .context = 8, .layers = 1, .heads = 2, .dim = 8, .deviation = 0.4},
        generator);
    const Tensor ids = randint(0, 13, {2, 6}, generator);
    Inspector inspector(model);
    watch(inspector, [&] { return model.loss(ids, ids); });
    const TokenPath& path = inspector.token_path();
    CHECK_EQ(path.tokens, 6);
    CHECK_EQ(path.places, std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
    const std::vector<std::string> names = names_of(inspector);
    REQUIRE_EQ(names.size(), 14);
    CHECK_EQ(names[2], "layer_norm blocks.0.attention_norm");
    CHECK_EQ(names[3], "linear blocks.0.attention.qkv");
    CHECK_EQ(names[4], "attention blocks.0.attention");
    CHECK_EQ(names[5], "linear blocks.0.attention.output");
    CHECK_EQ(names[11], "add blocks.0");
    // The last are the logits of the first sequence.
    const auto logits = test::plain::gpt(views::slice(ids, 0, 0, 1), model).data;
    REQUIRE_EQ(path.entries.back().numbers.size(), logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
        CHECK_EQ(path.entries.back().numbers[i], doctest::Approx(logits[i]).epsilon(1e-4));
    }
    // Gradients of the logits: (softmax - one-hot) / 12, for two sequences of six tokens.
    REQUIRE_EQ(path.entries.back().gradients.size(), 6);
    for (std::size_t place = 0; place < 6; ++place) {
        const double* row = logits.data() + 13 * place;
        double sum = 0, squares = 0;
        for (int i = 0; i < 13; ++i) sum += std::exp(row[i]);
        const std::int64_t right = ids.to_vector<std::int64_t>()[place];
        for (int i = 0; i < 13; ++i) {
            const double g = (std::exp(row[i]) / sum - (i == right ? 1 : 0)) / 12;
            squares += g * g;
        }
        CHECK_EQ(path.entries.back().gradients[place],
                 doctest::Approx(std::sqrt(squares)).epsilon(1e-4));
    }
    for (const FollowedEntry& e : path.entries) {
        CHECK_EQ(e.gradients.size(), 6);
        REQUIRE_EQ(e.lengths.size(), 6);
        for (std::size_t place = 0; place < 6; ++place) {
            double squares = 0;
            for (std::int64_t d = 0; d < e.width; ++d) {
                const double x = e.numbers[place * static_cast<std::size_t>(e.width) +
                                           static_cast<std::size_t>(d)];
                squares += x * x;
            }
            CHECK_EQ(e.lengths[place], doctest::Approx(std::sqrt(squares)).epsilon(1e-5));
        }
    }
    // The heads' output after the output projection is the next entry.
    const AttentionTrace& attention = inspector.attention().front();
    CHECK_EQ(attention.output, model.blocks.layers[0]->attention.output.weight.to_vector<float>());
    CHECK_EQ(attention.output_bias.size(), 8);
    CHECK_EQ(attention.v.size(), attention.k.size());
    for (std::size_t place = 0; place < 6; ++place) {
        double sum = attention.output_bias[3];
        for (std::size_t i = 0; i < 8; ++i) {
            sum += attention.output[3 * 8 + i] * path.entries[4].numbers[place * 8 + i];
        }
        CHECK_EQ(path.entries[5].numbers[place * 8 + 3], doctest::Approx(sum).epsilon(1e-5));
    }
}

TEST_CASE("token path: of an encoder-decoder the decoder's; behind a class token one vector") {
    Generator generator(32);
    const Transformer pair({.source_vocab = 9,
                            .target_vocab = 10,
                            .dim = 8,
                            .heads = 2,
                            .layers = 2,
                            .dropout = 0,
                            .padding_id = 0},
                           generator);
    const Tensor source = randint(1, 9, {1, 4}, generator),
                 read = randint(1, 10, {1, 4}, generator);
    Inspector inspector(pair);
    watch(inspector, [&] { return pair.loss(source, read, read); });
    CHECK_EQ(inspector.token_path().tokens, 4);
    for (const std::string& name : names_of(inspector)) {
        CHECK_EQ(name.find("encoder."), std::string::npos);
    }

    const VisionTransformer vision(
        {.height = 8, .width = 8, .patch = 4, .classes = 3, .dim = 8, .heads = 2, .layers = 1},
        generator);
    const Tensor images = randn({2, 1, 8, 8}, generator), labels = randint(0, 3, {2}, generator);
    Inspector seen(vision);
    watch(seen, [&] { return vision.loss(images, labels); });
    CHECK_EQ(seen.token_path().tokens, 5);
    const FollowedEntry& last = seen.token_path().entries.back();
    CHECK(last.whole);
    CHECK_EQ(last.numbers, views::slice(vision(images), 0, 0, 1).to_vector<float>());
}

TEST_CASE("token path: of a model whose first vectors are those of attention") {
    Generator generator(35);
    const Linear head(8, 5, true, generator);
    Tensor q = randn({1, 2, 3, 4}, generator);
    q.set_requires_grad();
    Inspector inspector(head);
    watch(inspector, [&] {
        const Tensor y = scaled_dot_product_attention(q, q, q);  // [1, 2, 3, 4]
        const Tensor rows = reshape(transpose(y, 1, 2), {3, 8});
        return cross_entropy(head(rows), tensor<std::int64_t>({0, 1, 2}));
    });
    const TokenPath& path = inspector.token_path();
    CHECK_EQ(path.tokens, 3);
    CHECK_EQ(path.places, std::vector<std::int64_t>{0, 1, 2});
    REQUIRE_FALSE(path.entries.empty());
    CHECK_EQ(path.entries.front().width, 8);
    CHECK_EQ(path.entries.front().numbers.size(), 24);
    CHECK(nlohmann::json::parse(to_json(inspector, {.title = "t"}))["path"].is_object());
}

TEST_CASE(
    "token path: a large model's is followed at few places, the first and the last among them") {
    CHECK_EQ(even_places(7, 3), std::vector<std::int64_t>{0, 3, 6});
    CHECK_EQ(even_places(7, 1), std::vector<std::int64_t>{6});
    CHECK_EQ(even_places(3, 9), std::vector<std::int64_t>{0, 1, 2});
    Generator generator(33);
    const GPT model({.vocab = 20'000, .context = 64, .layers = 1, .heads = 1, .dim = 64},
                    generator);
    const Tensor ids = randint(0, 20'000, {1, 64}, generator);
    Inspector inspector(model);
    watch(inspector, [&] { return model.loss(ids, ids); });
    const TokenPath& path = inspector.token_path();
    CHECK_EQ(path.places.size(),
             TokenPaths::kMostNumbers / (1 + 3 * model.parameter_count() / 128));
    CHECK_EQ(path.places.front(), 0);
    CHECK_EQ(path.places.back(), 63);
    CHECK(path.entries.back().numbers.empty());  // too many classes for logits
    const nlohmann::json page = nlohmann::json::parse(to_json(inspector, {.title = "large"}));
    CHECK_EQ(page["path"]["places"].size(), path.places.size());
    CHECK_FALSE(page["path"]["entries"].back().contains("numbers"));
    CHECK(page["attention"][0].contains("v"));
}
