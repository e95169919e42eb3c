// tapestry eval: how well a trained model predicts a text.
#include <tapestry/core/parallel.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
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
    EvaluateOptions options{.batches = 200, .batch = 12};
    std::uint64_t seed = 1337;
    int threads = num_threads();
    bool json = false;
};

int run_eval(const EvalSettings& s) {
    set_num_threads(s.threads);
    const LoadedModel loaded = load_model(s.model);
    const std::string text = read_text(s.text);
    const TextData data(loaded.tokenizer.encode(text, s.text), {.name = s.text});
    Generator generator(s.seed);
    const double loss = evaluate(*loaded.model, data, Split::all, s.options, generator);
    require<DivergedError>(std::isfinite(loss), "eval: the loss is {}: the model has diverged",
                           loss);
    const std::int64_t tokens =
        s.options.batches * s.options.batch * loaded.model->config().context;
    if (s.json) {
        const nlohmann::ordered_json json{
            {"loss", loss}, {"perplexity", std::exp(loss)}, {"tokens", tokens}};
        fmt::print("{}\n", json.dump());
    } else {
        fmt::print("loss {:.4f} nats per character (perplexity {:.3f}) over {} characters of {}\n",
                   loss, std::exp(loss), tokens, s.text);
    }
    return kSuccess;
}

}  // namespace

void add_eval(CLI::App& app, Run& run) {
    auto s = std::make_shared<EvalSettings>();
    CLI::App& command = *app.add_subcommand("eval", "Measure a trained model's loss on a text");
    command.add_option("--model", s->model, "Directory that `tapestry train` wrote")->required();
    command.add_option("--text", s->text, "UTF-8 text")->required();
    command.add_option("--batches", s->options.batches, "Random batches of 12 pieces of the text")
        ->capture_default_str()
        ->check(count_from(1));
    add_seed(command, s->seed, "Of the choice of pieces");
    add_threads(command, s->threads);
    command.add_flag("--json", s->json, "Print one JSON object");
    command.callback([s, &run] { run = [s] { return run_eval(*s); }; });
}

}  // namespace tapestry::cli
