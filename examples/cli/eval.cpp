// tapestry eval: how well a trained model predicts a text, or a sequence of token ids.
#include <tapestry/core/parallel.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/nn/data/token_file.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/nn/train/loop.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <memory>

namespace tapestry::cli {
namespace {

struct EvalSettings {
    std::string model;
    std::string text;
    std::string tokens;
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
void eval_text(const EvalSettings& s, const LoadedModel& loaded) {
    const Tokenizer& tokenizer = require_tokenizer(loaded, s.model);
    const std::string text = read_text(s.text);
    const TextData data(tokenizer.encode(text, s.text), {.name = s.text});
    Generator generator(s.seed);
    const double loss = evaluate(*loaded.model, data, Split::all, s.options, generator);
    check_finite(loss);
    const std::int64_t tokens =
        s.options.batches * s.options.batch * loaded.model->config().context;
    if (s.json) {
        const nlohmann::ordered_json json{
            {"loss", loss}, {"perplexity", std::exp(loss)}, {"tokens", tokens}};
        fmt::print("{}\n", json.dump());
    } else {
        const std::string_view unit = tokenizer.unit();
        fmt::print("loss {:.4f} nats per {} (perplexity {:.3f}) over {} {}s of {}\n", loss, unit,
                   std::exp(loss), tokens, unit, s.text);
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
    const LoadedModel loaded = load_model(s.model);
    s.tokens.empty() ? eval_text(s, loaded) : eval_tokens(s, loaded);
    return kSuccess;
}

}  // namespace

void add_eval(Options& app) {
    auto s = std::make_shared<EvalSettings>();
    Options& o = app.subcommand("eval", "Measure a trained model's loss on a text");
    add_model_directory(o, s->model);
    const Option text = o.text("--text", s->text, "UTF-8 text");
    Option tokens = o.text(
        "--tokens", s->tokens,
        "Instead of a text: a file of token ids, all of it, in windows of the model's context");
    const Option batches =
        o.count("--batches", s->options.batches, "Random batches of 12 pieces of the text");
    tokens.excludes(text).excludes(batches);
    o.require_any({"--text", "--tokens"});
    o.seed(s->seed, "Of the choice of pieces");
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s] { return run_eval(*s); });
}

}  // namespace tapestry::cli
