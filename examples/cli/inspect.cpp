// tapestry inspect: one training step of a trained model on a text, as an HTML page or, with
// --print, in the terminal.
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/terminal/text_step.h>
#include <tapestry/nn/train/step_on_text.h>

#include <fmt/core.h>

namespace tapestry::cli {
namespace {

struct InspectSettings {
    std::string model, prompt, out = "page.html";
    std::optional<std::string> target;
    bool print = false;
    StepTextOptions text{.width = terminal_columns()};
    int threads = num_threads();
};

int run_inspect(const InspectSettings& s) {
    set_num_threads(s.threads);
    const StepOnText taken = step_on_text(s.model, s.prompt, s.target);
    const WatchedStep step(*taken.model, taken.loss, taken.products);
    const PageOptions page = taken.page(step.loss());
    if (s.print) {
        print_text(text_step(step.inspector(), page, s.text));
        return kSuccess;
    }
    write_page(s.out, step.inspector(), page, fmt::format("{} heads, ", step.heads()));
    return kSuccess;
}

}  // namespace

void add_inspect(Options& app) {
    auto s = std::make_shared<InspectSettings>();
    Options& o = app.subcommand(
        "inspect", "Inspect one training step: a page with its tape, attention, memory, gradients");
    o.example("--model runs/book --prompt \"Once upon a time\" --out page.html");
    o.text("--model", s->model,
           "Directory written by `tapestry train` or `dates --out`, or one from Hugging Face")
        .required();
    o.text(
         "--prompt", s->prompt,
         "Text for the step. Task mask: with [MASK] in it; answer: passage, tab, question; image: "
         "a file with one image; table: a file with one row")
        .required();
    o.text("--target", s->target,
           "What to predict. Task translate: the text to write; classify, image: the label; mask: "
           "the text without [MASK]; answer: the answer. A language model and a table take none");
    const Option out = o.text("--out", s->out, "Page to write, one HTML file");
    Option print = o.flag("--print", s->print,
                          "Print the tape and all heads as small maps instead of writing a page");
    print.excludes(out);
    Option layer = o.count("--layer", s->text.layer,
                           "With --print: show only one head, large; index of its layer", {0});
    Option head = o.count("--head", s->text.head, "Head index within the layer, from 0", {0});
    layer.needs(print).needs(head);
    head.needs(print).needs(layer);
    add_width(o, s->text.width).needs(print);
    o.threads(s->threads);
    o.run([s] { return run_inspect(*s); });
}

}  // namespace tapestry::cli
