// Llama against plain loops, every gradient, its initial weights, its variants, and what it
// refuses. tests/nn/language_models_test.cpp tests what it shares with other kinds.
#include <tapestry/nn/models/llama/llama.h>
#include <tapestry/ops/catalog/reference/elementwise.h>
#include <tapestry/tests/nn/module_gradients.h>
#include <tapestry/tests/nn/plain.h>

#include <cmath>

using namespace tapestry;
using test::check_throws;

namespace {

using test::plain::Numbers;

constexpr LlamaConfig kTiny{
    .vocab = 7, .context = 6, .layers = 2, .heads = 4, .kv_heads = 2, .dim = 16, .hidden = 12};

Numbers rms_norm(const Numbers& x, const VectorNorm& layer) {
    const Numbers weight = test::plain::numbers(layer.weight);
    const std::int64_t dim = weight.size();
    Numbers y = x;
    for (std::int64_t row = 0; row < x.size() / dim; ++row) {
        double squares = 0;
        for (std::int64_t c = 0; c < dim; ++c) squares += x[row * dim + c] * x[row * dim + c];
        const double root = std::sqrt(squares / static_cast<double>(dim) + 1e-5);
        for (std::int64_t c = 0; c < dim; ++c)
            y[row * dim + c] = x[row * dim + c] / root * weight[c];
    }
    return y;
}

Numbers feed_forward(const Numbers& x, const FeedForward& layer) {
    Numbers hidden = test::plain::linear(x, layer.up);
    const Numbers gate = test::plain::linear(x, *layer.gate);
    for (std::int64_t i = 0; i < hidden.size(); ++i)
        hidden[i] *= gate[i] / (1 + std::exp(-gate[i]));
    return test::plain::linear(hidden, layer.down);
}

// The elements first .. first + width - 1 of a row, with element i and i + width / 2 turned by
// t base^(-2 i / width).
std::vector<double> turned(const Numbers& x, std::int64_t first, std::int64_t width,
                           std::int64_t t) {
    std::vector<double> y(static_cast<std::size_t>(width));
    for (std::int64_t i = 0; i < width / 2; ++i) {
        const double angle = static_cast<double>(t) * std::pow(1e4, -2 * static_cast<double>(i) /
                                                                        static_cast<double>(width));
        const double a = x[first + i], b = x[first + i + width / 2];
        y[static_cast<std::size_t>(i)] = a * std::cos(angle) - b * std::sin(angle);
        y[static_cast<std::size_t>(i + width / 2)] = a * std::sin(angle) + b * std::cos(angle);
    }
    return y;
}

// x [1, T, C]; a row of qkv is H queries, G keys, and G values of width D.
Numbers attention(const Numbers& x, const MultiHeadAttention& layer, const LlamaConfig& c) {
    const std::int64_t length = x.shape[1], width = c.dim / c.heads,
                       row = c.dim + 2 * c.kv_heads * width;
    const Numbers qkv = test::plain::linear(x, *layer.qkv);
    Numbers merged({1, length, c.dim});
    for (std::int64_t h = 0; h < c.heads; ++h) {
        const std::int64_t g = h / (c.heads / c.kv_heads);
        for (std::int64_t t = 0; t < length; ++t) {
            const auto q = turned(qkv, t * row + h * width, width, t);
            std::vector<double> weights;
            double sum = 0;
            for (std::int64_t s = 0; s <= t; ++s) {
                const auto k = turned(qkv, s * row + c.dim + g * width, width, s);
                double score = 0;
                for (std::size_t d = 0; d < q.size(); ++d) score += q[d] * k[d];
                weights.push_back(std::exp(score / std::sqrt(static_cast<double>(width))));
                sum += weights.back();
            }
            for (std::int64_t d = 0; d < width; ++d) {
                double& y = merged[t * c.dim + h * width + d];
                for (std::int64_t s = 0; s <= t; ++s) {
                    y += weights[static_cast<std::size_t>(s)] / sum *
                         qkv[s * row + c.dim + (c.kv_heads + g) * width + d];
                }
            }
        }
    }
    return test::plain::linear(merged, layer.output);
}

Numbers logits_of(const std::vector<std::int64_t>& ids, const Llama& model) {
    const LlamaConfig& c = model.config();
    const Numbers table = test::plain::numbers(model.token_embedding.weight);
    Numbers x({1, std::ssize(ids), c.dim});
    for (std::int64_t i = 0; i < x.size(); ++i) {
        x[i] = table[ids[static_cast<std::size_t>(i / c.dim)] * c.dim + i % c.dim];
    }
    for (const auto& layer : model.blocks.layers) {
        const LlamaBlock& block = *layer;
        x = test::plain::add(x, attention(rms_norm(x, block.attention_norm), block.attention, c));
        x = test::plain::add(
            x, feed_forward(rms_norm(x, block.feed_forward_norm), block.feed_forward));
    }
    return test::plain::linear(rms_norm(x, model.final_norm), model.head);
}

}  // namespace

TEST_CASE("Llama: the logits are the formula's") {
    for (const bool tied : {false, true}) {
        LlamaConfig config = kTiny;
        config.tied_head = tied;
        Llama model(config);
        test::randomise(model, 0.4);
        const std::vector<std::int64_t> ids{3, 0, 6, 6, 1};
        CHECK(test::difference(model(tensor(ids, {1, 5})), logits_of(ids, model)) < 1e-12);
    }
}

TEST_CASE("Llama: every gradient, and the same bits with recompute") {
    Llama model(kTiny);
    test::randomise(model, 0.4);
    const Tensor ids = tensor<std::int64_t>({{3, 0, 6}, {1, 2, 4}}),
                 next = tensor<std::int64_t>({{0, 6, 5}, {2, 4, 3}});
    test::check_module_gradients(model, [&] { return model.loss(ids, next); });

    const auto gradients = [&](bool again) {
        LlamaConfig config = kTiny;
        config.recompute = again;
        config.dropout = 0.2;
        Generator generator(3);
        const Llama other(config, generator);
        Tape tape;
        tape.backward(other.loss(ids, next));
        std::vector<std::vector<float>> all;
        for (const Tensor& p : other.parameters()) all.push_back(p.grad().to_vector<float>());
        return all;
    };
    CHECK(gradients(true) == gradients(false));
}

TEST_CASE("Llama: initial weights, width, types") {
    Generator generator(1);
    const Llama model({.vocab = 50, .context = 8, .layers = 8, .heads = 2, .dim = 96}, generator);
    CHECK_EQ(model.blocks.layers[0]->feed_forward.up.weight.shape(), Shape{256, 96});
    const auto deviation = [](const Tensor& x) {
        double squares = 0;
        for (const double one : x.to_vector<double>()) squares += one * one;
        return std::sqrt(squares / static_cast<double>(x.numel()));
    };
    CHECK(deviation(model.token_embedding.weight) == doctest::Approx(0.02).epsilon(0.05));
    CHECK(deviation(model.blocks.layers[3]->attention.output.weight) ==
          doctest::Approx(0.02 / 4).epsilon(0.05));
    CHECK_EQ(model.final_norm.weight.to_vector<float>(), std::vector<float>(96, 1));
    for (const auto& [name, parameter] : model.named_parameters())
        CHECK_FALSE(name.ends_with("bias"));

    LlamaConfig config = kTiny;
    config.weights = ComputeType::bf16;
    const Llama half(config, generator);
    CHECK(half.head.weight.dtype() == DType::bf16);
    CHECK(half(tensor<std::int64_t>({{1, 2}})).dtype() == DType::bf16);
    Llama full(kTiny, generator);
    full.compute_in(ComputeType::bf16);
    CHECK(full(tensor<std::int64_t>({{1, 2}})).dtype() == DType::bf16);
}

TEST_CASE("Llama: what it refuses") {
    const auto refused = [](const char* message, const auto& change) {
        LlamaConfig config = kTiny;
        change(config);
        check_throws<ValueError>([&] { Llama model(config); }, message);
    };
    refused("Llama: vocab must be positive, got 0", [](auto& c) { c.vocab = 0; });
    refused("Llama: 3 heads do not divide dim 16 (remainder 1)", [](auto& c) { c.heads = 3; });
    refused("Llama: the norms' epsilon must be >= 0, got -1", [](auto& c) { c.norm_eps = -1; });
    const Llama model(kTiny);
    check_throws<ShapeError>(
        [&] {
            model(tensor<std::int64_t>({{1, 1, 1, 1, 1, 1, 1}}));
        },
        "Llama: 7 tokens are more than the context of 6");
    std::vector<KeyValueCache> caches(3);
    check_throws<ShapeError>([&] { model(tensor<std::int64_t>({{1}}), {.caches = &caches}); },
                             "LlamaStack: 3 caches or records for 2 layers");
}
