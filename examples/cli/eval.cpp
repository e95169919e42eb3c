// tapestry eval: how well a trained model predicts a text, or a sequence of token ids.
#include <tapestry/core/parallel.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/config_options.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/nn/data/token_file.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/nn/train/tokenized_text.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <memory>
#include <utility>

namespace tapestry::cli {
namespace {

struct EvalSettings {
    std::string model;
    std::string text;
    std::string data;
    std::string tokens;
    Split split = Split::all;
    double test_fraction = 0;
    EvaluateOptions options{.batches = 200, .batch = 12};
    std::uint64_t seed = 1337;
    int threads = num_threads();
    bool json = false;
};

void check_finite(double loss) {
    require<DivergedError>(std::isfinite(loss), "eval: the loss is {}: the model has diverged",
                           loss);
}

// Random pieces of a text.
void eval_text(const EvalSettings& s, LoadedModel& loaded) {
    require_tokenizer(loaded, s.model);
    require(s.split != Split::test || s.test_fraction > 0,
            "eval: --split test needs --test-fraction, the one that the training had");
    const TrainingConfig config{
        .text = s.text, .data = s.data, .test_fraction = s.test_fraction, .start = s.model};
    const TokenizedText text = read_tokens(config, std::move(loaded.tokenizer));
    Generator generator(s.seed);
    const double loss = evaluate(*loaded.model, text.data, s.split, s.options, generator);
    check_finite(loss);
    const std::int64_t tokens =
        s.options.batches * s.options.batch * loaded.model->config().context;
    if (s.json) {
        const nlohmann::ordered_json json{
            {"loss", loss}, {"perplexity", std::exp(loss)}, {"tokens", tokens}};
        fmt::print("{}\n", json.dump());
    } else {
        const std::string_view unit = text.tokenizer->unit();
        const std::string part =
            s.split == Split::all ? "" : fmt::format("the {} part of ", name_of_value(s.split));
        fmt::print("loss {:.4f} nats per {} (perplexity {:.3f}) over {} {}s of {}{}\n", loss, unit,
                   std::exp(loss), tokens, unit, part, data_name(config));
    }
}

// All of a sequence, window after window.
void eval_tokens(const EvalSettings& s, const LoadedModel& loaded) {
    GPT& model = *loaded.model;
    const WindowLoss result =
        evaluate_windows(model, read_token_file(s.tokens, model.config().vocab));
    check_finite(result.loss);
    if (s.json) {
        const nlohmann::ordered_json json{{"loss", result.loss}, {"tokens", result.tokens}};
        fmt::print("{}\n", json.dump());
    } else {
        fmt::print("loss {:.4f} nats per token (perplexity {:.3f}) over {} tokens of {}\n",
                   result.loss, std::exp(result.loss), result.tokens, s.tokens);
    }
}

int run_eval(const EvalSettings& s) {
    set_num_threads(s.threads);
    LoadedModel loaded = load_model(s.model);
    s.tokens.empty() ? eval_text(s, loaded) : eval_tokens(s, loaded);
    return kSuccess;
}

}  // namespace

void add_eval(Options& app) {
    auto s = std::make_shared<EvalSettings>();
    Options& o = app.subcommand("eval", "Measure a trained model's loss on a text");
    add_model_directory(o, s->model);
    Option text = o.text("--text", s->text, "UTF-8 text");
    const Option data =
        o.text("--data", s->data, "Instead of a text: what `tapestry tokenize` has made of texts");
    Option tokens = o.text(
        "--tokens", s->tokens,
        "Instead of a text: a file of token ids, all of it, in windows of the model's context");
    const Option batches =
        o.count("--batches", s->options.batches, "Random batches of 12 pieces of the text");
    const Option split = add_choice(o, "--split", s->split,
                                    "The part of the text that a training learns from, validates "
                                    "on or does not look at; or all of it");
    o.number("--test-fraction", s->test_fraction, 0, 0.1, "The one that the training had");
    text.excludes(data);
    tokens.excludes(text).excludes(data).excludes(batches).excludes(split);
    o.require_any({"--text", "--data", "--tokens"});
    o.seed(s->seed, "Of the choice of pieces");
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s] { return run_eval(*s); });
}

}  // namespace tapestry::cli
