// How well a model in a directory predicts: the losses equal those of evaluate() and
// evaluate_windows(), and the text about them.
#include <tapestry/nn/data/token_ids.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/tests/nn/small_run.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

using namespace tapestry;
using test::check_message;
using test::spill;
using Json = nlohmann::json;

namespace {

struct EvaluationPlace : test::RunPlace {
    EvaluationPlace() {
        const CharTokenizer tokenizer = CharTokenizer::from_text(test::slurp(text));
        Generator generator(1);
        GPT gpt({.vocab = tokenizer.vocab_size(),
                 .context = 8,
                 .layers = 1,
                 .heads = 2,
                 .dim = 16,
                 .dropout = 0.5},
                generator);
        save_model(model, gpt, tokenizer);
        gpt.parameters().front().mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
        save_model(broken, gpt, tokenizer);
    }
    TrainingConfig config() const { return {.text = text.string(), .start = model}; }

    std::string model = (scratch / "m").string();
    std::string broken = (scratch / "broken").string();
};

}  // namespace

TEST_CASE("evaluation: of random pieces of a text, or of a part of it") {
    const EvaluationPlace place;
    const EvaluateOptions options{.batches = 3, .batch = 4};
    const LoadedModel loaded = load_model(place.model);
    const TextData data(loaded.tokenizer->encode(test::slurp(place.text), "text"));
    for (const Split split : {Split::all, Split::validation}) {
        Generator generator(7);
        const double loss = evaluate(*loaded.model, data, split, options, generator);
        const Evaluation one = evaluate_on_text(place.config(), split, options, 7);
        CHECK_EQ(one.loss, loss);
        CHECK_EQ(one.tokens, 3 * 4 * 8);
        const std::string part = split == Split::all ? "" : "the validation part of ";
        CHECK_EQ(to_text(one),
                 fmt::format("loss {:.4f} nats per character (perplexity {:.3f}) over 96 "
                             "characters drawn from {}{}",
                             loss, std::exp(loss), part, place.text.string()));
        const Json json = Json::parse(to_json(one));
        CHECK_EQ(json, Json({{"loss", loss}, {"perplexity", std::exp(loss)}, {"tokens", 96}}));
    }
}

// A model that sees thousands of tokens has few windows in a text, or less than one.
TEST_CASE("evaluation: of a whole part, where random pieces are as long") {
    const EvaluationPlace place;
    const LoadedModel loaded = load_model(place.model);
    const TextData data(loaded.tokenizer->encode(test::slurp(place.text), "text"));
    const std::int64_t count = data.size(Split::validation) - 1;
    const std::int64_t batches = count / 8 + 1;  // of one sequence of 8 tokens
    const WindowLoss all = evaluate_windows(*loaded.model, data.ids(Split::validation));
    EvaluateOptions options{.batches = batches, .batch = 1, .at_most_all = true};
    Evaluation one = evaluate_on_text(place.config(), Split::validation, options, 7);
    CHECK_EQ(one.loss, all.loss);
    CHECK_EQ(one.tokens, count);
    CHECK(to_text(one).find(" characters of the validation part of ") != std::string::npos);
    options.batches = count / 8 - 1;
    one = evaluate_on_text(place.config(), Split::validation, options, 7);
    CHECK(one.drawn);
    CHECK_EQ(one.tokens, options.batches * 8);
    options = {.batches = 200, .batch = 12, .at_most_all = true};
    TrainingConfig short_text = place.config();
    spill(short_text.text = (place.scratch / "short").string(), "abc");
    CHECK_EQ(evaluate_on_text(short_text, Split::all, options).tokens, 2);
    CHECK_THROWS_AS(evaluate_on_text(short_text), ValueError);
}

TEST_CASE("evaluation: by a model whose context is longer than any text") {
    const EvaluationPlace place;
    const CharTokenizer tokenizer = CharTokenizer::from_text(test::slurp(place.text));
    const auto with = [](std::int64_t vocab, std::int64_t context) {
        return GPTConfig{.vocab = vocab,
                         .context = context,
                         .layers = 1,
                         .heads = 2,
                         .dim = 16,
                         .positions = Positions::rotary};
    };
    constexpr std::int64_t kHuge = std::int64_t{1} << 61;  // 8 times it are 0 in 64 bits
    const std::vector<std::int64_t> ids{1, 7, 2, 0, 5};
    Generator first(1), second(1), third(1);
    GPT huge(with(8, kHuge), first), small(with(8, 4), second);
    CHECK_EQ(evaluate_windows(huge, ids).loss, evaluate_windows(small, ids).loss);
    save_model(place.model, GPT(with(tokenizer.vocab_size(), kHuge), third), tokenizer);
    TrainingConfig config = place.config();
    spill(config.text = (place.scratch / "short").string(), "abc");
    const EvaluateOptions options{.batches = 200, .batch = 12, .at_most_all = true};
    CHECK_EQ(evaluate_on_text(config, Split::all, options).tokens, 2);
}

TEST_CASE("evaluation: of all ids in a file, in order") {
    const EvaluationPlace place;
    const std::string file = (place.scratch / "ids").string();
    spill(file, "1 2 3 4 5 6 7 8 9 10 1");
    const LoadedModel loaded = load_model(place.model);
    const WindowLoss all = evaluate_windows(
        *loaded.model, read_token_file(file, common_settings(loaded.model->model_config()).vocab));
    const Evaluation one = evaluate_on_tokens(place.model, file);
    CHECK_EQ(one.loss, all.loss);
    CHECK(to_text(Evaluation{.loss = 1, .tokens = 1, .of = "t"}).ends_with("over 1 token of t"));
    CHECK_EQ(to_text(Evaluation{.loss = 100, .tokens = 1, .unit = "token", .of = "t"}),
             "loss 100.0000 nats per token (perplexity 2.688e+43) over 1 token of t");
    CHECK_EQ(to_text(one), fmt::format("loss {:.4f} nats per token (perplexity {:.3f}) over 10 "
                                       "tokens of {}",
                                       all.loss, std::exp(all.loss), file));
    const double perplexity = std::exp(all.loss);
    CHECK_EQ(Json::parse(to_json(one)),
             Json({{"loss", all.loss}, {"perplexity", perplexity}, {"tokens", 10}}));
}

TEST_CASE("evaluation: what cannot be said") {
    const EvaluationPlace place;
    TrainingConfig config = place.config();
    check_message<ValueError>([&] { evaluate_on_text(config, Split::test); },
                              "eval: --split test needs --test-fraction, as given in training");
    config.test_fraction = 0.05;
    CHECK(
        evaluate_on_text(config, Split::test, {.batches = 1, .batch = 1}).of.starts_with("the te"));
    config.start = place.broken;
    check_message<DivergedError>([&] { evaluate_on_text(config, Split::all, {.batches = 1}); },
                                 "eval: the loss is nan: the model has diverged");
    config.text = (place.scratch / "none").string();
    check_message<IoError>([&] { evaluate_on_text(config); }, "none");
}

TEST_CASE("a model with a text: in its tokens, in training mode") {
    const EvaluationPlace place;
    const ModelWithText loaded = load_model_with_text(place.model, place.text.string());
    CHECK(loaded.model->is_training());
    CHECK_EQ(loaded.data.size(Split::all), std::ssize(test::slurp(place.text)));
    check_message<IoError>([&] { load_model_with_text(place.model, "none"); }, "none");
    check_message<IoError>([&] { load_model_with_text("none", place.text.string()); }, "none");
    spill(place.text, "abc xyz");
    check_message<ValueError>([&] { load_model_with_text(place.model, place.text.string()); },
                              "'x'");
}
