// tapestry sample: generates text with a trained model.
#include <tapestry/core/parallel.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/examples/options/config_options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/layers/linear.h>

#include <cstdio>
#include <memory>

namespace tapestry::cli {
namespace {

struct SampleSettings {
    std::string model;
    std::string prompt;
    SampleOptions options;
    WeightType weights = WeightType::f32;
    std::uint64_t seed = 1337;
    int threads = num_threads();
};

int run_sample(const SampleSettings& s) {
    set_num_threads(s.threads);
    const LoadedModel loaded = load_model(s.model);
    quantize_weights(*loaded.model, s.weights);
    Generator generator(s.seed);
    catch_interrupts();
    sample_text(*loaded.model, require_tokenizer(loaded, s.model), s.prompt, s.options, generator,
                [](const std::string& text) {
                    say_sample(text);
                    return !interrupted() && std::ferror(stdout) == 0;
                });
    say("\n");
    return interrupted() ? kInterrupted : kSuccess;
}

}  // namespace

void add_sample(Options& app) {
    auto s = std::make_shared<SampleSettings>();
    Options& o = app.subcommand("sample", "Write text with a trained model");
    o.example("--model runs/book --prompt \"Once upon a time\" --tokens 500");
    add_model_directory(o, s->model);
    o.text("--prompt", s->prompt, "Text to continue");
    o.count("--tokens", s->options.tokens,
            "Tokens to generate: characters, or byte pairs if the model uses them", {0});
    o.number("--temperature", s->options.temperature, 0, 1000,
             "Below 1 safer, above 1 wilder, 0 always the most likely token");
    o.count("--top-k", s->options.top_k, "Sample only from the k most likely tokens; 0: all", {0});
    o.number("--top-p", s->options.top_p, 1e-9, 1,
             "Sample only from the most likely tokens that together reach probability p");
    add_choice(o, "--weights", s->weights,
               "Type of the weights: fewer bits are faster to read, but rounded");
    o.seed(s->seed, "Seed for the random numbers");
    o.threads(s->threads);
    o.run([s] { return run_sample(*s); });
}

}  // namespace tapestry::cli
