// tapestry sample: generates text with a trained model.
#include <tapestry/core/file.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/text_table.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/examples/options/config_options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/models/diverged_error.h>
#include <tapestry/nn/train/step_on_text.h>

#include <array>
#include <cstdio>
#include <memory>
#include <span>

namespace tapestry::cli {
namespace {

struct SampleSettings {
    std::string model;
    std::string prompt;
    std::string prompt_file;
    SampleOptions options;
    WeightType weights = WeightType::f32;
    std::int64_t samples = 1;
    bool json = false;
    std::uint64_t seed = 1337;
    int threads = num_threads();
};

std::string read_standard_input() {
    std::string text;
    std::array<char, 4096> buffer{};
    while (const std::size_t bytes = std::fread(buffer.data(), 1, buffer.size(), stdin)) {
        text.append(buffer.data(), bytes);
    }
    require<IoError>(std::ferror(stdin) == 0, "the prompt could not be read from standard input");
    return text;
}

// Without the last newline, which editors add, as in llama.cpp; some also add a byte order mark.
std::string prompt_of(const SampleSettings& s) {
    if (s.prompt_file.empty()) return s.prompt;
    std::string text = s.prompt_file == "-" ? read_standard_input() : read_file(s.prompt_file);
    text.erase(0, utf8::mark_bytes(text));
    if (text.ends_with('\n')) text.erase(text.size() - (text.ends_with("\r\n") ? 2 : 1));
    return text;
}

std::string text_of(const Tokenizer& tokenizer, std::int64_t id) {
    return token_texts(tokenizer, std::span(&id, 1)).front();
}

void print_probabilities(const Tokenizer& tokenizer, const std::vector<SampledToken>& tokens) {
    std::vector<std::vector<std::string>> rows{{"token", "p", "likeliest"}};
    for (const SampledToken& token : tokens) {
        std::string likeliest;
        for (const auto& [id, p] : token.likeliest) {
            likeliest += fmt::format("{}{} {:.3f}", likeliest.empty() ? "" : "  ",
                                     utf8::quoted(text_of(tokenizer, id), 20), p);
        }
        rows.push_back({utf8::quoted(text_of(tokenizer, token.id), 20),
                        fmt::format("{:.3f}", token.probability), likeliest});
    }
    say(terminal::text_table(rows, "lrl"));
}

std::string to_json(const Tokenizer& tokenizer, std::uint64_t seed, const std::string& prompt,
                    const std::string& text, const std::vector<SampledToken>& tokens) {
    const auto write_token = [&](JsonWriter& json, std::int64_t id, double p) {
        json.members("id", id, "text", text_of(tokenizer, id), "probability", p);
    };
    JsonWriter json;
    json.object([&] {
        json.members("seed", seed, "prompt", prompt, "text", text);
        json.list("tokens", tokens, [&](const SampledToken& token) {
            json.object([&] {
                write_token(json, token.id, token.probability);
                json.list("likeliest", token.likeliest, [&](const auto& one) {
                    json.object([&] { write_token(json, one.first, one.second); });
                });
            });
        });
    });
    return json.text();
}

// Sample i of several is that of a run with --seed (seed + i).
void write_sample(const SampleSettings& s, const LoadedModel& loaded, const std::string& prompt,
                  std::int64_t i) {
    const std::uint64_t seed = s.seed + static_cast<std::uint64_t>(i);
    const Tokenizer& tokenizer = require_tokenizer(loaded, s.model);
    std::vector<SampledToken> tokens;
    SampleOptions options = s.options;
    if (s.json || options.probabilities > 0) {
        options.on_choice = [&](const SampledToken& token) { tokens.push_back(token); };
    }
    if (s.samples > 1 && !s.json) {
        say(fmt::format("--- sample {} of {}, --seed {}\n", i + 1, s.samples, seed));
    }
    Generator generator(seed);
    std::string text;
    try {
        text = sample_text(*loaded.model, tokenizer, prompt, options, generator,
                           [&](const std::string& piece) {
                               if (!s.json) say_sample(piece);
                               return !interrupted() && std::ferror(stdout) == 0;
                           });
    } catch (const DivergedError&) {  // the prompt is written; what is wrong gets its own line
        if (!s.json) say("\n");
        throw;
    }
    if (s.json) {
        print_json(to_json(tokenizer, seed, prompt, text.substr(prompt.size()), tokens));
        return;
    }
    say("\n");
    if (options.probabilities > 0) print_probabilities(tokenizer, tokens);
}

int run_sample(const SampleSettings& s) {
    set_num_threads(s.threads);
    const std::string prompt = prompt_of(s);
    const LoadedModel loaded = load_model(s.model, s.weights);
    catch_interrupts();
    for (std::int64_t i = 0; i < s.samples && !interrupted() && std::ferror(stdout) == 0; ++i) {
        write_sample(s, loaded, prompt, i);
    }
    return interrupted() ? kInterrupted : kSuccess;
}

}  // namespace

void add_sample(Options& app) {
    auto s = std::make_shared<SampleSettings>();
    Options& o = app.subcommand("sample", "Write text with a trained model");
    o.example("--model runs/book --prompt \"Once upon a time\" --tokens 500");
    add_model_directory(o, s->model);
    const Option prompt = o.text("--prompt", s->prompt, "Text to continue");
    o.text("--prompt-file", s->prompt_file,
           "File with the text to continue, without its last newline; -: standard input")
        .excludes(prompt);
    o.count("-n,--samples", s->samples, "Number of samples; each has the seed after the last's");
    o.count(
        "--tokens", s->options.tokens,
        "Maximum number of tokens to generate: characters, or byte pairs if the model uses them",
        {0});
    o.texts("--stop", s->options.stop, "End before this text; may be given several times")
        .one_value();
    o.flag("--past-end", s->options.past_end,
           "Go on after the end of a document, where a sample ends otherwise");
    add_sampling_options(o, s->options);
    o.count("--probabilities", s->options.probabilities,
            "Print the probability of each token, and of this many that were most likely", {0});
    add_json(o, s->json);
    add_choice(o, "--weights", s->weights,
               "Type of the weights: fewer bits are faster to read, but rounded");
    o.seed(s->seed, "Seed for the random numbers");
    o.threads(s->threads);
    o.run([s] { return run_sample(*s); });
}

}  // namespace tapestry::cli
