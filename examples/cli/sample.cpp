// tapestry sample: what a trained model writes.
#include <tapestry/core/parallel.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/interrupt.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/sample.h>

#include <fmt/core.h>

#include <cstdio>
#include <memory>

namespace tapestry::cli {
namespace {

struct SampleSettings {
    std::string model;
    std::string prompt;
    SampleOptions options;
    std::uint64_t seed = 1337;
    int threads = num_threads();
};

int run_sample(const SampleSettings& s) {
    set_num_threads(s.threads);
    const LoadedModel loaded = load_model(s.model);
    const CharTokenizer& tokenizer = loaded.tokenizer;
    std::vector<std::int64_t> prompt = tokenizer.encode(s.prompt, "prompt");
    fmt::print("{}", s.prompt);
    if (prompt.empty()) {  // begin as a new line does, where the model knows one
        const auto newline = tokenizer.vocab().find(U'\n');
        prompt.push_back(newline == std::u32string::npos ? 0 : static_cast<std::int64_t>(newline));
    }
    Generator generator(s.seed);
    catch_interrupts();
    sample(*loaded.model, prompt, s.options, generator, [&tokenizer](std::int64_t id) {
        fmt::print("{}", tokenizer.decode(std::span(&id, 1)));
        std::fflush(stdout);
        return !interrupted();
    });
    fmt::print("\n");
    return interrupted() ? kInterrupted : kSuccess;
}

}  // namespace

void add_sample(CLI::App& app, Run& run) {
    auto s = std::make_shared<SampleSettings>();
    CLI::App& command = *app.add_subcommand("sample", "Write text with a trained model");
    command.add_option("--model", s->model, "Directory that `tapestry train` wrote")->required();
    command.add_option("--prompt", s->prompt, "Text to continue");
    command.add_option("--tokens", s->options.tokens, "Characters to write")
        ->capture_default_str()
        ->check(count_from(0));
    command
        .add_option("--temperature", s->options.temperature,
                    "Below 1 safer, above 1 wilder, 0 always the likeliest")
        ->capture_default_str()
        ->check(number_in(0, 1000));
    command.add_option("--top-k", s->options.top_k, "Only the k likeliest; 0: all")
        ->capture_default_str()
        ->check(count_from(0));
    command.add_option("--top-p", s->options.top_p, "Only the likeliest that reach probability p")
        ->capture_default_str()
        ->check(number_in(1e-9, 1));
    add_seed(command, s->seed, "Of the random numbers");
    add_threads(command, s->threads);
    command.callback([s, &run] { run = [s] { return run_sample(*s); }; });
}

}  // namespace tapestry::cli
