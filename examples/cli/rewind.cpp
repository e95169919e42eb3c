// tapestry rewind: any step of a training, taken again to the same bits, and what it did.
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/run_options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/nn/terminal/rewind_text.h>
#include <tapestry/nn/terminal/text_step.h>
#include <tapestry/ops/machine_peak.h>

namespace tapestry::cli {
namespace {

struct RewindSettings {
    RunOptions run;
    std::int64_t step = 1;
    bool all = false;
    std::optional<std::string> page;
    bool print = false;
    StepTextOptions text{.width = terminal_columns()};
};

int run_rewind(const RewindSettings& s) {
    const RunReader run(s.run);
    const bool is_next = s.step == run.history().last_step() + 1;  // at which a run may diverge
    const auto session = run.rewinder().session_before(s.step);
    if (session->is_finished()) run.history().step(s.step, "rewind: step");
    const RewindStart start = run.rewinder().start_of(s.step);
    const bool watch = s.print || s.page.has_value() || is_next;
    const RewoundStep step = take_again(*session, watch, watch ? measure_peak() : MachinePeak{});
    const Tokenizer& tokenizer = session->tokenizer();
    print_text(to_text(step, run.history(), start, tokenizer, s.text.width));
    if (watch) {
        const PageOptions page =
            page_of(step.recorded, *step.watched, session->model(), tokenizer, s.run.directory);
        if (s.print) print("\n{}", text_step(*step.watched->inspector, page, s.text));
        if (s.page) write_page(*s.page, *step.watched->inspector, page);
    }
    if (is_next) return kSuccess;
    const StepMetrics& then = run.history().step(s.step);
    return difference(then, step.metrics).empty() ? kSuccess : kFailure;
}

int run_all(const RewindSettings& s) {
    const RunReader run(s.run);
    const RunComparison all =
        compare_all(run.history(), run.rewinder(), [](std::int64_t step, const std::string& what) {
            print("step {}: metrics.jsonl differs: {}\n", step, utf8::printable(what));
        });
    print("{} of {} steps: the same bits as metrics.jsonl, {} of them with grad_xxh3\n", all.same,
          all.steps, all.with_gradients);
    return all.same == all.steps ? kSuccess : kFailure;
}

}  // namespace

void add_rewind(Options& app) {
    auto s = std::make_shared<RewindSettings>();
    Options& o = app.subcommand("rewind", "Take any step of a training again, to the same bits");
    o.example("runs/book --step 350 --inspect page.html");
    add_run_options(o, s->run);
    Option step = o.count("--step", s->step, "Which; the first is 1", {-1000000000});
    Option all = o.flag("--all", s->all, "Take all of them, and compare them with metrics.jsonl");
    o.require_any({"--step", "--all"});
    Option page =
        o.text("--inspect", s->page, "Write a page with its tape, attention, memory and gradients");
    Option print =
        o.flag("--print", s->print, "Print the tape, and all heads of attention as small maps");
    add_width(o, s->text.width);
    all.excludes(step).excludes(page).excludes(print);
    o.run([s] { return s->all ? run_all(*s) : run_rewind(*s); });
}

}  // namespace tapestry::cli
