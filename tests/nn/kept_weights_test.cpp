// A trained model with quantized weights: its loss, and the text it generates.
#include <tapestry/core/parallel.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/tests/nn/support.h>
#include <tapestry/tests/settings.h>

#include <cmath>

using namespace tapestry;

namespace {

const GPTConfig kSmall{.vocab = 13, .context = 32, .layers = 2, .heads = 2, .dim = 48};

// Windows of squares modulo 13, each from a random start, and the next numbers, a sixth of which
// are random.
std::pair<Tensor, Tensor> batch(std::int64_t seed) {
    Generator generator(static_cast<std::uint64_t>(seed));
    std::vector<std::int64_t> from, to;
    for (int row = 0; row < 8; ++row) {
        auto at = static_cast<std::int64_t>(13 * generator.uniform());
        const auto next = [&] {
            const bool surprise = generator.uniform() < 1.0 / 6;
            ++at;
            return surprise ? static_cast<std::int64_t>(13 * generator.uniform()) : at * at % 13;
        };
        std::int64_t now = next();
        for (std::int64_t i = 0; i < kSmall.context; ++i) {
            from.push_back(now);
            to.push_back(now = next());
        }
    }
    return {tensor(from, {8, kSmall.context}), tensor(to, {8, kSmall.context})};
}

double loss_of(const GPT& model) {
    const NoGradGuard no_grad;
    double sum = 0;
    for (std::int64_t i = 0; i < 8; ++i) {
        const auto [from, to] = batch(1000 + i);
        sum += model.loss(from, to).item() / 8;
    }
    return sum;
}

struct Trained {
    Generator generator{3};
    GPT model{kSmall, generator};
    Trained() {
        AdamW optimizer(ParameterGroups(model.parameters()), {.lr = 4e-3});
        for (std::int64_t step = 0; step < 150; ++step) {
            optimizer.zero_grad();
            Tape tape;
            const auto [from, to] = batch(step);
            tape.backward(model.loss(from, to));
            optimizer.step();
        }
        model.eval();
    }
};

}  // namespace

TEST_CASE("kept weights: the loss stays within 0.01 of that of f32") {
    const test::SettingsGuard restored;
    for (const WeightType type : {WeightType::bf16, WeightType::int8}) {
        Trained trained;
        const double wide = loss_of(trained.model);
        CHECK_LT(wide, 1.6);  // compared with log 13 = 2.56
        quantize_weights(trained.model, type);
        CAPTURE(name_of_value(type));
        const double kept = loss_of(trained.model);
        CAPTURE(kept - wide);
        CHECK_NE(kept, wide);
        CHECK(std::abs(kept - wide) < 0.01);
        // The same one token at a time with a cache as all at once; with any number of threads.
        std::vector<std::vector<std::int64_t>> written;
        for (const int threads : {1, 3}) {
            set_num_threads(threads);
            Generator generator(5);
            written.push_back(sample(trained.model, {1, 4}, {.tokens = 40}, generator));
        }
        CHECK(written[0] == written[1]);
    }
}

TEST_CASE("kept weights: int8 says what it is, and does not learn") {
    Generator generator(3);
    GPT model(kSmall, generator);
    const std::int64_t before = model.parameter_count();
    quantize_weights(model, WeightType::f32);
    CHECK_EQ(model.parameter_count(), before);
    quantize_weights(model, WeightType::int8);
    quantize_weights(model, WeightType::int8);  // already quantized
    CHECK(model.summary().find("48 -> 144, int8") != std::string::npos);
    CHECK_EQ(model.head.settings(), "48 -> 13, no bias, int8");
    CHECK(model.token_embedding.weight.defined());
    Tape tape;
    const auto [from, to] = batch(1);
    tape.backward(model.loss(from, to));  // through the int8 weights, which have none
    CHECK(model.token_embedding.weight.grad().defined());
}
