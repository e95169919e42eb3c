// Forms of attention by name: which model takes which, that a cache changes nothing, directories,
// and heads that are dropped.
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/attention/named_forms.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/models/masked_language_model.h>
#include <tapestry/nn/models/vision_transformer.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/tests/core/scratch.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

using namespace tapestry;
using test::check_message;

namespace {

GPTConfig small_gpt(const std::string& form) {
    return {.vocab = 11, .context = 12, .layers = 2, .heads = 2, .dim = 16, .form = form};
}

MaskedLanguageModelConfig small_masked(const std::string& form) {
    return {.vocab = 9,
            .max_length = 8,
            .dim = 32,
            .heads = 2,
            .layers = 1,
            .dropout = 0,
            .form = form};
}

Tensor drawn_ids(const Shape& shape, std::int64_t limit, std::uint64_t seed) {
    Generator generator(seed);
    return randint(0, limit, shape, generator);
}

double distance(const Tensor& a, const Tensor& b) {
    const auto x = a.to_vector<double>(), y = b.to_vector<double>();
    REQUIRE(x.size() == y.size());
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
    return most;
}

void refused(const GPTConfig& config, const char* words) {
    check_message<ValueError>([&] { GPT model(config); }, words);
}

// The loss of guessing a masked symbol that the other half of the sequence has, after some hundred
// steps. The symbol 8 is the mask.
double learned_copy(const std::string& form) {
    Generator weights(1), batches(2);
    MaskedLanguageModel model(small_masked(form), weights);
    AdamW optimizer(model, {.lr = 3e-3});
    double last = 0;
    for (int step = 0; step < 400; ++step) {
        std::vector<std::int64_t> ids, targets;
        for (int b = 0; b < 32; ++b) {
            std::int64_t half[4];
            for (auto& symbol : half) symbol = static_cast<std::int64_t>(batches.below(8));
            const auto masked = batches.below(8);
            for (std::uint64_t t = 0; t < 8; ++t) {
                ids.push_back(t == masked ? 8 : half[t % 4]);
                targets.push_back(t == masked ? half[t % 4] : -100);
            }
        }
        Tape tape;
        const Tensor loss = model.loss(tensor(ids, {32, 8}), tensor(targets, {32, 8}));
        tape.backward(loss);
        optimizer.step();
        optimizer.zero_grad();
        last = step == 0 ? loss.item() : 0.9 * last + 0.1 * loss.item();
    }
    return last;
}

}  // namespace

TEST_CASE("attention by name: what a GPT refuses, in a line") {
    refused(small_gpt("windows:8"),
            "GPT: no form of attention is called 'windows:8'; there are window:W, strided:S, "
            "linear, performer:M, linformer:K, softmax");
    refused(small_gpt("window"),
            "GPT: window attention needs a number from 1 to 1048576, the positions that a position "
            "sees on a side, as in window:64; got 'window'");
    for (const char* wrong : {"window:", "window:0", "window:-3", "window:8x", "window:1e3",
                              "window:9999999999999999999999", "strided:1048577"}) {
        INFO(std::string(wrong));
        refused(small_gpt(wrong), "needs a number from 1 to 1048576");
    }
    refused(small_gpt("linear:4"), "GPT: linear attention has no number, got 'linear:4'");
    refused(small_gpt("linformer:4"), "so a causal model would see what it is to predict");
    GPTConfig config = small_gpt("linear");
    config.dropout = 0.1;
    refused(config,
            "GPT: linear attention computes no weights that dropout could zero; the dropout "
            "must be 0, got 0.1");
    config = small_gpt("window:4");
    config.dropout = 0.1;
    CHECK(GPT(config).config().dropout == 0.1);
    config.positions = Positions::alibi;
    refused(config,
            "GPT: alibi positions add to the score of each pair, which window:4 attention "
            "does not compute");
    config.positions = Positions::rotary;
    config.compute = ComputeType::bf16;
    refused(config, "GPT: window:4 attention computes in f32, not in bf16");
    config.compute = ComputeType::f32;
    config.weights = ComputeType::bf16;
    refused(config, "GPT: window:4 attention computes in f32, not in bf16");
    check_message<ValueError>([] { register_attention_form("linear", {}); }, "has no factory");
    check_message<ValueError>(
        [] {
            register_attention_form("linear", [] { return std::make_unique<SoftmaxAttention>(); });
        },
        "the name 'linear' is taken");
}

TEST_CASE("attention by name: tokens one by one, with a cache, give the logits of all at once") {
    for (const char* form : {"softmax", "window:3", "strided:3", "linear", "performer:16"}) {
        for (const Positions positions : {Positions::learned, Positions::rotary}) {
            INFO(std::string(form));
            GPTConfig config = small_gpt(form);
            config.positions = positions;
            config.kv_heads = 1;
            Generator weights(3);
            GPT model(config, weights);
            model.eval();
            const NoGradGuard no_grad;
            const Tensor ids = drawn_ids({2, 12}, 11, 4);
            const Tensor whole = model(ids);  // [2, 12, 11]
            std::vector<KeyValueCache> caches;
            for (std::int64_t t = 0; t < 12; ++t) {
                const Tensor one = model(views::slice(ids, 1, t, t + 1), {.caches = &caches});
                CHECK(distance(one, views::slice(whole, 1, t, t + 1)) < 1e-5);
            }
        }
    }
}

TEST_CASE("attention by name: a directory has the form, and its numbers") {
    const test::Scratch scratch;
    const CharTokenizer characters = CharTokenizer::from_text("abcdefghijk");
    const Tensor ids = drawn_ids({1, 12}, 11, 5);
    for (const char* form : {"window:3", "strided:3", "linear", "performer:16"}) {
        INFO(std::string(form));
        Generator weights(6);
        GPT model(small_gpt(form), weights);
        model.eval();
        save_model(scratch / "m", model, characters);
        const LoadedModel loaded = load_model(scratch / "m");
        const NoGradGuard no_grad;
        CHECK_EQ((*loaded.model)(ids).to_vector<float>(), model(ids).to_vector<float>());
        GPT plain(small_gpt("softmax"), weights);
        plain.load_state_dict(model.state_dict(), false);
        CHECK(distance(plain(ids), model(ids)) > 1e-4);  // it does something else
    }
}

TEST_CASE("attention by name: estimates of size count what a form keeps") {
    for (const char* form : {"softmax", "linformer:6"}) {
        INFO(std::string(form));
        const MaskedLanguageModel model(small_masked(form));
        CHECK_EQ(parameter_count(small_masked(form)), static_cast<double>(model.parameter_count()));
    }
    CHECK_EQ(attention_form_numbers("linformer:6", 8, 16), 96);
    CHECK_EQ(attention_form_numbers("performer:6", 8, 16), 96);
    CHECK_EQ(attention_form_numbers("performer:x", 8, 16), 0);
}

TEST_CASE("attention by name: models that read in both directions learn with every form") {
    for (const char* form : {"softmax", "window:4", "strided:4", "performer:64", "linformer:8"}) {
        INFO(std::string(form));
        CHECK(learned_copy(form) < 1);  // guessing: 2.08
    }
    CHECK(learned_copy("linear") < 1.95);   // without a softmax, a sharp look is learned late
    CHECK(learned_copy("window:1") > 1.5);  // the other copy is four positions away
    const VisionTransformerConfig images{.height = 4,
                                         .width = 4,
                                         .patch = 2,
                                         .classes = 3,
                                         .dim = 8,
                                         .heads = 2,
                                         .layers = 1,
                                         .form = "linformer:3"};
    const VisionTransformer model(images);
    CHECK_EQ(parameter_count(images), static_cast<double>(model.parameter_count()));
    CHECK_EQ(model(ones({2, 1, 4, 4})).shape(), Shape{2, 3});
}

TEST_CASE("attention by name: head dropout is for training, and scales what it leaves") {
    GPTConfig config = small_gpt("softmax");
    config.head_dropout = 0.5;
    Generator weights(7);
    GPT model(config, weights);
    const Tensor ids = drawn_ids({4, 12}, 11, 8);
    const NoGradGuard no_grad;
    const Tensor first = model(ids), second = model(ids);
    CHECK(distance(first, second) > 1e-4);
    model.eval();
    CHECK_EQ(distance(model(ids), model(ids)), 0);
}

TEST_CASE("forms by name: the inspector takes no block of a window for the sequence") {
    GPTConfig config = small_gpt("window:8");
    config.context = 48;
    Generator generator(1);
    const GPT model(config, generator);
    for (const std::int64_t length : {24, 46}) {  // one block, and several
        CAPTURE(length);
        Inspector inspector(model);
        Tape tape;
        const Tensor ids = drawn_ids({1, length}, 11, 3);
        const Tensor loss = model.loss(ids, ids);
        inspector.finish();
        CHECK_EQ(inspector.attention().size(), length == 24 ? 2 : 0);
        for (const AttentionTrace& trace : inspector.attention()) CHECK_EQ(trace.keys, length);
    }
}
