// Sampling from a model with known probabilities: the head's weights are the logits.
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/models/diverged_error.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tapestry;
using test::check_throws;
using Ids = std::vector<std::int64_t>;

namespace {

// For any input, the logits are log(0.1), log(0.4), log(0.3), log(0.2).
const std::vector<float> kProbabilities{0.1F, 0.4F, 0.3F, 0.2F};

struct Fixed {
    Generator generator{1};
    GPT model{{.vocab = 4, .context = 3, .layers = 1, .heads = 1, .dim = 2, .tied_head = false},
              generator};
    Fixed() {
        model.eval();
        model.final_norm.weight.fill_(0);
        model.final_norm.bias.copy_(tensor<float>({1, 0}));
        float* weight = model.head.weight.mutable_data<float>();
        for (std::size_t i = 0; i < 4; ++i) weight[2 * i] = std::log(kProbabilities[i]);
    }
    // The frequency of each token among 4000.
    std::vector<double> shares(SampleOptions options) {
        options.tokens = 4000;
        Generator drawing(11);
        std::vector<double> counts(4);
        for (const std::int64_t id : sample(model, {0}, options, drawing)) {
            counts.at(static_cast<std::size_t>(id)) += 1.0 / 4000;
        }
        return counts;
    }
};

bool close(const std::vector<double>& a, const std::vector<double>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](double x, double y) { return y == 0 ? x == 0 : std::abs(x - y) < 0.03; });
}

}  // namespace

TEST_CASE("sample: frequencies follow the probabilities") {
    Fixed fixed;
    CHECK(close(fixed.shares({.temperature = 1}), {0.1, 0.4, 0.3, 0.2}));
    // Temperature 1/2 squares them: 0.01, 0.16, 0.09, 0.04, with sum 0.3.
    CHECK(close(fixed.shares({.temperature = 0.5}), {0.033, 0.533, 0.3, 0.133}));
    CHECK(close(fixed.shares({.temperature = 1e6}), {0.25, 0.25, 0.25, 0.25}));
    CHECK(close(fixed.shares({.temperature = 1e-300}), {0, 1, 0, 0}));
    CHECK(close(fixed.shares({.temperature = 1, .top_k = 2}), {0, 0.571, 0.429, 0}));
    CHECK(close(fixed.shares({.temperature = 1, .top_k = 100}), {0.1, 0.4, 0.3, 0.2}));
    // The likeliest tokens that together reach p: 0.4 < 0.6 <= 0.4 + 0.3.
    CHECK(close(fixed.shares({.temperature = 1, .top_p = 0.6}), {0, 0.571, 0.429, 0}));
    CHECK(close(fixed.shares({.temperature = 1, .top_p = 0.85}), {0, 0.444, 0.333, 0.222}));
}

// A large vocabulary is sorted only partially, in portions, and sampled as if fully sorted: with a
// nucleus of a few tokens or of most, ties included.
TEST_CASE("sample: of many tokens, what the whole order of them says") {
    constexpr std::int64_t kVocab = 3000;
    Generator generator(1);
    GPT model(
        {.vocab = kVocab, .context = 3, .layers = 1, .heads = 1, .dim = 2, .tied_head = false},
        generator);
    model.eval();
    model.final_norm.weight.fill_(0);
    model.final_norm.bias.copy_(tensor<float>({1, 0}));
    std::vector<double> logits;
    for (std::int64_t i = 0; i < kVocab; ++i) {
        logits.push_back(static_cast<float>(std::floor(generator.uniform() * 900) / 100));
        model.head.weight.mutable_data<float>()[2 * i] = static_cast<float>(logits.back());
    }
    Ids order(kVocab);
    std::iota(order.begin(), order.end(), 0);
    const auto logit_of = [&](std::int64_t id) { return logits[static_cast<std::size_t>(id)]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return logit_of(a) > logit_of(b); });
    for (const SampleOptions& options :
         std::vector<SampleOptions>{{.tokens = 200, .temperature = 1},
                                    {.tokens = 200, .temperature = 0.2},
                                    {.tokens = 200, .temperature = 100},
                                    {.tokens = 200, .temperature = 0.2, .top_p = 0.9},
                                    {.tokens = 200, .temperature = 3, .top_p = 0.7},
                                    {.tokens = 200, .temperature = 1, .top_k = 1500},
                                    {.tokens = 200, .temperature = 1, .top_k = 70, .top_p = 0.5}}) {
        const auto size = static_cast<std::size_t>(options.top_k > 0 ? options.top_k : kVocab);
        std::vector<double> sums(size);  // over the likeliest
        for (std::size_t i = 0; i < size; ++i) {
            const double weight =
                std::exp((logit_of(order[i]) - logit_of(order[0])) / options.temperature);
            sums[i] = weight + (i > 0 ? sums[i - 1] : 0);
        }
        const auto end = std::lower_bound(sums.begin(), sums.end(), options.top_p * sums.back());
        const double kept = end == sums.end() ? sums.back() : *end;
        Generator drawing(7), same(7);
        for (const std::int64_t id : sample(model, {0}, options, drawing)) {
            const auto drawn = std::upper_bound(sums.begin(), sums.end(), same.uniform() * kept);
            REQUIRE_EQ(id, order.at(static_cast<std::size_t>(drawn - sums.begin())));
        }
    }
}

TEST_CASE("sample: the likeliest token, in all the ways to ask for it") {
    Generator generator(1);
    GPT model({.vocab = 20, .context = 8, .layers = 2, .heads = 2, .dim = 16}, generator);
    for (Tensor& parameter : model.parameters()) {
        if (parameter.rank() == 2) parameter.copy_(test::random(parameter.shape(), 3, DType::f32));
    }
    Ids expected{5};
    while (expected.size() < 7) {
        const Tensor ids = tensor(expected, {1, static_cast<std::int64_t>(expected.size())});
        const auto logits = model(ids).to_vector<double>();
        const auto last = logits.end() - 20;
        expected.push_back(std::max_element(last, logits.end()) - last);
    }
    expected.erase(expected.begin());
    for (const SampleOptions& options :
         std::vector<SampleOptions>{{.tokens = 6, .temperature = 0},
                                    {.tokens = 6, .temperature = 1, .top_k = 1},
                                    {.tokens = 6, .temperature = 1, .top_p = 1e-9}}) {
        Generator drawing(1);
        CHECK_EQ(sample(model, {5}, options, drawing), expected);
    }
}

TEST_CASE("sample: seeds, tapes, callbacks") {
    Fixed fixed;
    const auto drawn = [&](std::uint64_t seed) {
        Generator drawing(seed);
        return sample(fixed.model, {1, 2}, {.tokens = 50, .temperature = 1}, drawing);
    };
    CHECK_EQ(drawn(1), drawn(1));
    CHECK(drawn(1) != drawn(2));
    CHECK_EQ(drawn(1).size(), 50);
    Generator drawing(1);
    const Tape tape;
    Ids told;
    const Ids ids = sample(fixed.model, {1, 2}, {.tokens = 50, .temperature = 1}, drawing,
                           [&](std::int64_t id) {
                               told.push_back(id);
                               return told.size() < 5;
                           });
    CHECK_EQ(ids, told);
    CHECK_EQ(told.size(), 5);
    const Ids whole = drawn(1);
    CHECK_EQ(told, Ids(whole.begin(), whole.begin() + 5));
    CHECK(tape.entries().empty());
    CHECK(sample(fixed.model, {0}, {.tokens = 0}, drawing).empty());
}

TEST_CASE("sample text: the prompt, then what sample() draws after it, piece by piece") {
    Fixed fixed;
    const CharTokenizer tokenizer = CharTokenizer::from_text("abcd");
    const SampleOptions options{.tokens = 20, .temperature = 1};
    const auto expected = [&](const std::string& prompt, const Ids& ids) {
        Generator drawing(3);
        return prompt + tokenizer.decode(sample(fixed.model, ids, options, drawing));
    };
    std::vector<std::string> told;
    const auto text = [&](const std::string& prompt, std::size_t most) {
        told.clear();
        Generator drawing(3);
        return sample_text(fixed.model, tokenizer, prompt, options, drawing,
                           [&](const std::string& piece) {
                               told.push_back(piece);
                               return told.size() < most;
                           });
    };
    CHECK_EQ(text("ca", 100), expected("ca", {2, 0}));
    CHECK_EQ(told.size(), 1 + 20 + 1);
    CHECK_EQ(told.front(), "ca");
    CHECK_EQ(told.back(), "");  // nothing was left over
    CHECK_EQ(text("", 100), expected("", {tokenizer.beginning()}));
    CHECK_EQ(text("ca", 4), expected("ca", {2, 0}).substr(0, 2 + 3));
    CHECK_EQ(text("ca", 1), "ca");
    CHECK_EQ(told, std::vector<std::string>{"ca"});
    test::check_message<ValueError>([&] { text("cx", 100); }, "prompt: character 'x'");
    CHECK(told.empty());
    Generator drawing(3);  // the callback is optional
    CHECK_EQ(sample_text(fixed.model, tokenizer, "ca", options, drawing), expected("ca", {2, 0}));
}

TEST_CASE("sample text: each end that a directory declares ends it") {
    Fixed fixed;
    CharTokenizer tokenizer = CharTokenizer::from_text("abcd");
    const auto text = [&](const SampleOptions& options) {
        Generator drawing(3);
        return sample_text(fixed.model, tokenizer, "ca", options, drawing);
    };
    CHECK_EQ(text({.tokens = 3, .temperature = 0}), "cabbb");
    tokenizer.declare_ends({3, 1});
    CHECK_EQ(text({.tokens = 3, .temperature = 0}), "ca");
    CHECK_EQ(text({.tokens = 3, .temperature = 0, .end = 0}), "cabbb");
    CHECK_EQ(text({.tokens = 3, .temperature = 0, .past_end = true}), "cabbb");
}

TEST_CASE("sample: of a prompt longer than the context, the end counts") {
    Generator generator(1);
    GPT model({.vocab = 20, .context = 4, .layers = 1, .heads = 1, .dim = 8}, generator);
    for (Tensor& parameter : model.parameters()) {
        if (parameter.rank() == 2) parameter.copy_(test::random(parameter.shape(), 3, DType::f32));
    }
    const auto drawn = [&](const Ids& prompt) {
        Generator drawing(1);
        return sample(model, prompt, {.tokens = 10, .temperature = 1}, drawing);
    };
    CHECK_EQ(drawn({9, 9, 9, 1, 2, 3, 4}), drawn({1, 2, 3, 4}));
    CHECK(drawn({1, 2, 3, 4}) != drawn({4, 3, 2, 1}));
}

TEST_CASE("sample: what is refused") {
    Fixed fixed;
    Generator drawing(1);
    const auto with = [&](const Ids& prompt, const SampleOptions& options) {
        return [&, prompt, options] { sample(fixed.model, prompt, options, drawing); };
    };
    check_throws<ValueError>(with({}, {}), "sample: the prompt is empty");
    check_throws<ValueError>(with({0}, {.tokens = -1}), "sample: tokens must be >= 0, got -1");
    check_throws<ValueError>(with({0}, {.temperature = -1}),
                             "sample: temperature must be finite and >= 0, got -1");
    CHECK_THROWS_AS(with({0}, {.temperature = NAN})(), ValueError);
    check_throws<ValueError>(with({0}, {.top_k = -1}), "sample: top_k must be >= 0, got -1");
    check_throws<ValueError>(with({0}, {.top_p = 0}), "sample: top_p must be in (0, 1], got 0");
    CHECK_THROWS_AS(with({0}, {.top_p = 1.1})(), ValueError);
    CHECK_THROWS_AS(with({0}, {.top_p = NAN})(), ValueError);
    CHECK_THROWS_AS(with({4}, {})(), IndexError);
    CHECK_THROWS_AS(with({0, -1}, {})(), IndexError);
    for (const double weight : {NAN, -NAN}) {
        fixed.model.head.weight.fill_(weight);
        for (const double temperature : {0.0, 1.0}) {
            check_throws<DivergedError>(with({0}, {.temperature = temperature}),
                                        "sample: the model's logits contain nan: it has diverged");
        }
    }
}

TEST_CASE("sampled text: a row of the table without a token in the tokenizer is U+FFFD") {
    const CharTokenizer tokenizer = CharTokenizer::from_text("ab\u00e9");
    StreamDecoder drawn(tokenizer);
    std::string text;
    for (const std::int64_t id : {0, 2, 3, 1}) text += drawn.next(id);
    CHECK_EQ(text + drawn.finish(), "a\u00e9\uFFFDb");
}
