// tapestry rewind: any step of a training, taken again to the same bits, and what it did.
#include <tapestry/core/cpu.h>
#include <tapestry/core/version.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/run_options.h>
#include <tapestry/examples/cli/step_page.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/nn/terminal/text_step.h>
#include <tapestry/ops/machine_peak.h>

#include <fmt/core.h>

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

// Why numbers may differ, if there is a reason.
std::string other_binary(const CheckpointInfo& then) {
    const std::string_view isa = name_of(current_isa());
    if (then.isa == isa && then.version == version()) return "";
    return fmt::format(" (taken by Tapestry {} on {}; this is {} on {})", then.version, then.isa,
                       version(), isa);
}

std::string text_of(const RewindStart& start) {
    const std::string from = start.state == 0
                                 ? "from the beginning"
                                 : fmt::format("from the state of step {}", start.state);
    if (start.steps == 0) return from;
    return fmt::format("{}, {} step{} away", from, start.steps, start.steps == 1 ? "" : "s");
}

bool print_step(const StepMetrics& then, const StepMetrics& now, const CheckpointInfo& info) {
    const std::string differs = difference(then, now);
    fmt::print("step {}: loss {}, grad_norm {}, lr {}\n", now.step, now.loss, now.grad_norm,
               now.lr);
    fmt::print("grad_xxh3 {}{}\n", now.grad_xxh3,
               then.grad_xxh3.empty() ? ", which metrics.jsonl does not have" : "");
    fmt::print("{}\n", differs.empty() ? "the same bits as metrics.jsonl"
                                       : "metrics.jsonl differs: " + differs + other_binary(info));
    return differs.empty();
}

int run_rewind(const RewindSettings& s) {
    const RunReader run(s.run);
    const StepMetrics& then = run.history().step(s.step, "rewind: step");
    const RewindStart start = run.rewinder().start_of(s.step);
    const auto session = run.rewinder().session_before(s.step);
    const bool watch = s.print || s.page.has_value();
    const RewoundStep step = take_again(*session, watch, watch ? measure_peak() : MachinePeak{});
    const bool same = print_step(then, step.metrics, run.history().latest());
    print_update(step.flow);
    fmt::print("taken again {}; it learned from\n", text_of(start));
    print_batches(step.recorded, session->tokenizer(), s.text.width);
    if (watch) {
        const PageOptions page = page_of(step.recorded, *step.watched, session->model(),
                                         session->tokenizer(), s.run.directory);
        if (s.print) fmt::print("\n{}", text_step(*step.watched->inspector, page, s.text));
        if (s.page) write_page(*s.page, *step.watched->inspector, page);
    }
    return same ? kSuccess : kFailure;
}

int run_all(const RewindSettings& s) {
    const RunReader run(s.run);
    std::int64_t same = 0, with_gradients = 0;
    run.rewinder().take_all([&](const RewoundStep& step) {
        const StepMetrics& then = run.history().step(step.metrics.step);
        const std::string differs = difference(then, step.metrics);
        if (!differs.empty()) {
            fmt::print("step {}: metrics.jsonl differs: {}\n", step.metrics.step, differs);
            return;
        }
        ++same;
        with_gradients += then.grad_xxh3.empty() ? 0 : 1;
    });
    fmt::print("{} of {} steps: the same bits as metrics.jsonl, {} of them with grad_xxh3\n", same,
               run.history().last_step(), with_gradients);
    return same == run.history().last_step() ? kSuccess : kFailure;
}

}  // namespace

void add_rewind(Options& app) {
    auto s = std::make_shared<RewindSettings>();
    Options& o = app.subcommand("rewind", "Take any step of a training again, to the same bits");
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
