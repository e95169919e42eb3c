// tapestry translate: translates texts, a line each, with an encoder-decoder that `tapestry train
// --task translate` has trained.
#include <tapestry/core/parallel.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/terminal/text_map.h>
#include <tapestry/nn/train/translate/translate_task.h>

#include <memory>
#include <optional>
#include <string>

namespace tapestry::cli {
namespace {

struct TranslatorSettings {
    std::string model, text = "-";
    std::optional<std::string> given;
    TranslateOptions options;
    bool alignment = false;
    int width = terminal_columns();
    int threads = num_threads();
};

void translate_one(const TranslateTask& task, const std::string& source,
                   const TranslatorSettings& s) {
    const std::string written = task.translate({source}, s.options)[0];
    print("{}\n", written);
    if (!s.alignment) return;
    const TranslationMap seen = task.align(source, written);
    print("\n{}\n", text_map(seen.weights, seen.written, seen.read, {.width = s.width}));
}

int translate_lines(const TranslateTask& task, const TranslatorSettings& s) {
    return for_each_line(s.text, [&](const std::string& line) {
        const std::size_t first = line.find_first_not_of(" \t\r");
        const std::size_t end = line.find_last_not_of(" \t\r") + 1;
        translate_one(task, line.substr(first, end - first), s);
    });
}

int run_translate(const TranslatorSettings& s) {
    set_num_threads(s.threads);
    const std::unique_ptr<TranslateTask> task = load_translate_task(s.model);
    catch_interrupts();
    if (!s.given) return translate_lines(*task, s);
    translate_one(*task, *s.given, s);
    return kSuccess;
}

}  // namespace

void add_translate(Options& app) {
    auto s = std::make_shared<TranslatorSettings>();
    Options& o =
        app.subcommand("translate", "Translate texts, a line each, with a trained encoder-decoder");
    o.example("--model runs/dates \"friday 20 november 2026\" --alignment");
    o.text("--model", s->model, "Directory written by `tapestry train --task translate`")
        .required();
    Option given = o.text("TEXT", s->given, "Text to translate; without it those of --text");
    given.excludes(o.text("--text", s->text, "UTF-8 file with a text per line; -: standard input"));
    const Option beam =
        o.count("--beam", s->options.beams, "Beams of the search; 1: greedy", {1, 1000});
    o.number("--length-penalty", s->options.length_penalty, 0, 100,
             "With --beam: higher values favour longer translations")
        .needs(beam);
    const Option alignment =
        o.flag("--alignment", s->alignment,
               "Show where the model looks as it writes: the cross-attention of its last layer, "
               "the mean of the heads, a row per character written");
    add_width(o, s->width).needs(alignment);
    o.threads(s->threads);
    o.run([s] { return run_translate(*s); });
}

}  // namespace tapestry::cli
