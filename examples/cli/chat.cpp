// tapestry chat: a conversation with a language model, a line of standard input for each message.
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/examples/options/config_options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/generate/chat.h>
#include <tapestry/nn/io/adapter_text.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/peft.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/models/lora.h>

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace tapestry::cli {
namespace {

struct ChatSettings {
    std::string model;
    std::string adapter;
    std::string style;
    std::optional<std::string> system;
    SampleOptions options;
    WeightType weights = WeightType::f32;
    std::uint64_t seed = 1337;
    int threads = num_threads();
};

std::string without_return(std::string line) {
    if (line.ends_with('\r')) line.pop_back();
    return line;
}

// Without its line break, which is CR LF in files of some systems; nullopt at the end of the input.
std::optional<std::string> read_line() {
    std::string line;
    for (int c = std::getc(stdin); c != EOF; c = std::getc(stdin)) {
        if (c == '\n') return without_return(std::move(line));
        line += static_cast<char>(c);
    }
    require<IoError>(std::ferror(stdin) == 0, "standard input could not be read");
    if (line.empty()) return std::nullopt;
    return without_return(std::move(line));
}

LoadedModel loaded_with_adapter(const ChatSettings& s) {
    const bool is_merged = !s.adapter.empty();
    LoadedModel loaded = load_model(s.model, is_merged ? WeightType::f32 : s.weights);
    require_tokenizer(loaded, s.model);
    if (is_merged) {
        const std::string said = take_adapter_template(s.adapter, loaded);
        if (!said.empty() && s.style.empty()) warn(said);
        load_adapter(s.adapter, *loaded.model);
        loaded.model = merged(*loaded.model);
        loaded.model->eval();
        quantize_weights(*loaded.model, s.weights);
    }
    return loaded;
}

// A message that cannot be answered ends a script, but not a conversation.
void answer(Chat& chat, const std::string& line, Generator& generator, bool is_terminal) {
    const std::int64_t before = chat.forgotten();
    try {
        chat.answer(line, generator, [](const std::string& piece) {
            say_sample(piece);
            return std::ferror(stdout) == 0;
        });
    } catch (const ValueError& error) {
        if (!is_terminal) throw;
        warn(error.what());
        return;
    }
    say("\n");
    if (chat.forgotten() == before || !is_terminal) return;
    say(fmt::format("(forgot {}, for which the context has no place)\n",
                    pluralize(chat.forgotten() - before, "message")));
}

int run_chat(const ChatSettings& s) {
    set_num_threads(s.threads);
    const LoadedModel loaded = loaded_with_adapter(s);
    const ChatTemplate form =
        chosen_template(loaded.conventions, *loaded.tokenizer, s.style, s.system);
    Chat chat(*loaded.model, *loaded.tokenizer, form, s.options);
    const bool is_terminal = isatty(STDIN_FILENO) == 1;
    if (is_terminal) {
        const std::string_view name = name_of_program(form.program);
        say(fmt::format("template {}; Ctrl-D ends\n", name.empty() ? "of the model" : name));
    }
    Generator generator(s.seed);
    for (bool begins = true; std::ferror(stdout) == 0; begins = false) {
        if (is_terminal) say("> ");
        std::optional<std::string> line = read_line();
        if (!line) break;
        if (begins) line->erase(0, utf8::mark_bytes(*line));
        if (line->find_first_not_of(" \t\r") != line->npos) {
            answer(chat, *line, generator, is_terminal);
        }
    }
    if (is_terminal) say("\n");
    return kSuccess;
}

}  // namespace

void add_chat(Options& app) {
    auto s = std::make_shared<ChatSettings>();
    Options& o = app.subcommand("chat", "Talk with a language model, line by line");
    o.example("--model SmolLM2-135M-Instruct --adapter runs/tuned/adapter");
    add_model_directory(o, s->model);
    o.text("--adapter", s->adapter, "LoRA adapter in PEFT's format, to add to the model");
    o.text("--chat-template", s->style,
           "Form of the conversation: chatml, llama3, plain or a file *.jinja; default: the "
           "directory's, or plain");
    o.text("--chat-system", s->system,
           "System message, which may be \"\"; default: the template's");
    o.count("--tokens", s->options.tokens, "Maximum number of tokens in an answer");
    o.texts("--stop", s->options.stop, "End answers before this text; may be given several times")
        .one_value();
    add_sampling_options(o, s->options);
    add_choice(o, "--weights", s->weights,
               "Type of the weights: fewer bits are faster to read, but rounded");
    o.seed(s->seed, "Seed for the random numbers");
    o.threads(s->threads);
    o.run([s] { return run_chat(*s); });
}

}  // namespace tapestry::cli
