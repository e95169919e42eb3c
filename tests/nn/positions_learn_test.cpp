// Every kind of language model and every form of positions learns what needs an order: to repeat
// the three symbols that a sequence begins with. One layer without positions sees which symbols
// there were, but not which came first, so of two that may follow it can only guess one.
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/tests/core/scratch.h>

using namespace tapestry;

namespace {

constexpr std::int64_t kSymbols = 8, kPeriod = 3, kLength = 12, kBatch = 32;

// Targets before the first repetition do not count.
Batch random_batch(Generator& generator) {
    std::vector<std::int64_t> inputs, targets;
    for (std::int64_t b = 0; b < kBatch; ++b) {
        std::int64_t first[kPeriod];
        for (auto& symbol : first) symbol = static_cast<std::int64_t>(generator.below(kSymbols));
        for (std::int64_t t = 0; t < kLength; ++t) {
            inputs.push_back(first[t % kPeriod]);
            targets.push_back(t + 1 < kPeriod ? -100 : first[(t + 1) % kPeriod]);
        }
    }
    return {tensor(inputs, {kBatch, kLength}), tensor(targets, {kBatch, kLength})};
}

// The loss on new sequences after some hundred steps.
double learned(ModelConfig config, std::int64_t heads = 2) {
    std::visit(
        [heads](auto& c) {
            if constexpr (requires {
                              c.vocab;
                              c.context;
                          }) {
                c.vocab = kSymbols;
                c.context = kLength;
                c.layers = 1;
                c.heads = heads;
                c.dim = 32;
            }
        },
        config);
    Generator weights(1), batches(2);
    const auto model = make_model(config, weights);
    const auto loss = [&] {
        const Batch b = random_batch(batches);
        return model->loss(b.inputs, b.targets);
    };
    AdamW optimizer(*model);
    const TrainOptions options{.steps = 400, .schedule = constant_schedule(3e-3)};
    train(optimizer, options, {.loss = loss, .evaluate = {}, .report = {}});
    const NoGradGuard no_grad;
    return loss().item();
}

}  // namespace

TEST_CASE("positions: each form learns an order that a model without them cannot see") {
    const double none = learned(GPTConfig{.positions = Positions::none});
    CHECK(none > 0.5);  // ln 2 of two that may follow, less where two of the symbols are the same
    for (const auto& [positions, name] : NamesOf<Positions>::list) {
        if (positions == Positions::none) continue;
        const std::string form(name);  // a binding cannot be captured
        INFO(form);
        // Of two heads ALiBi's slopes are 1/16 and 1/256: too flat to tell neighbours apart.
        const std::int64_t heads = positions == Positions::alibi ? 8 : 2;
        CHECK(learned(GPTConfig{.positions = positions}, heads) < none / 2);
    }
    for (const ModelRow& row : model_rows()) {
        if (row.make == nullptr) continue;
        CAPTURE(row.name);
        CHECK(learned(row.defaults) < none / 2);
    }
}

TEST_CASE("attention forms: each learns what a model without positions cannot") {
    const double none = learned(GPTConfig{.positions = Positions::none});
    for (const char* form : {"window:2", "strided:3", "linear", "performer:64"}) {
        INFO(std::string(form));
        CHECK(learned(GPTConfig{.form = form}) < none / 2);
    }
    CHECK(learned(GPTConfig{.form = "window:1"}) > 0.5);  // the symbol is two positions back
    GPTConfig dropping{.head_dropout = 0.1};
    CHECK(learned(dropping) < none / 2);
}

TEST_CASE("positions: embeddings are scaled with sinusoids only, and as the configuration says") {
    CHECK_EQ(embedding_scale({.dim = 64, .positions = Positions::sinusoidal}), 8);
    for (const auto positions : {Positions::learned, Positions::rotary, Positions::none}) {
        CHECK_EQ(embedding_scale({.dim = 64, .positions = positions}), 1);
    }
    GPTConfig config{.vocab = 5, .context = 4, .layers = 1, .heads = 1, .dim = 4};
    config.positions = Positions::none;
    const auto logits = [&](double scale, double times) {
        config.embedding_scale = scale;
        config.tied_head = false;
        Generator generator(1);
        GPT model(config, generator);
        model.token_embedding.weight.copy_(model.token_embedding.weight * times);
        return model(tensor<std::int64_t>({{0, 3, 1}})).to_vector<float>();
    };
    CHECK(logits(2, 1) == logits(1, 2));
    CHECK(logits(0, 1) == logits(1, 1));
    config.embedding_scale = -1;
    test::check_message<ValueError>([&] { GPT{config}; },
                                    "GPT: embedding_scale must be finite and >= 0, got -1");
}
