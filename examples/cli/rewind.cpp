// Replaying a run's steps bit for bit. tapestry rewind replays any step and reports it; tapestry
// bisect finds the first step for which a condition holds; tapestry replay runs a step saved by
// `tapestry train --trap-nan`. The work is in nn/train/replay.h and bisect.h.
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/terminal/replay_text.h>
#include <tapestry/nn/terminal/text_step.h>
#include <tapestry/nn/train/bisect.h>
#include <tapestry/nn/train/replay.h>
#include <tapestry/ops/machine_peak.h>

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>

namespace tapestry::cli {
namespace {

// The run that `rewind` and `bisect` read.
struct RunOptions {
    std::string directory;
    std::string text, data;  ///< where they are now, if they were moved
    int threads = num_threads();
    bool no_cache = false;
};

void add_run_options(Options& o, RunOptions& run) {
    o.text("directory", run.directory, "Run directory (--out of `tapestry train`)").required();
    o.text("--text", run.text, "Where the run's text is now, if it was moved")
        .excludes(o.text("--data", run.data, "Where the run's --data is now, if it was moved"));
    o.threads(run.threads);
    add_no_cache(o, run.no_cache);
}

// Opens the run and replays its steps. Prints a note when that will take a while.
class RunReader {
public:
    explicit RunReader(const RunOptions& run);

    const RunHistory& history() const { return history_; }
    const Replayer& replayer() const { return replayer_; }

private:
    std::unique_ptr<TextCache> cache_;
    RunHistory history_;
    Replayer replayer_;
};

RunReader::RunReader(const RunOptions& run)
    : cache_(text_cache(run.no_cache)),
      history_(run.directory),
      replayer_(history_, {.text = run.text,
                           .data = run.data,
                           .cache = cache_.get(),
                           .told = [](const ReplayStart& start) { say(wait_text(start)); }}) {
    set_num_threads(run.threads);
}

// ---- rewind

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
    const bool is_next = s.step == run.history().last_step() + 1;  // may diverge
    const auto session = run.replayer().session_before(s.step);
    if (session->is_finished()) run.history().step(s.step, "rewind: step");
    const ReplayStart start = run.replayer().start_of(s.step);
    const bool watch = s.print || s.page.has_value() || is_next;
    const ReplayedStep step = replay_step(*session, watch, watch ? measure_peak() : MachinePeak{});
    print_text(to_text(step, run.history(), start, session->task(), s.text.width));
    if (watch) {
        const PageOptions page =
            page_of(step.recorded, *step.watched, session->task(), s.run.directory);
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
        compare_all(run.history(), run.replayer(), [](std::int64_t step, const std::string& what) {
            print("step {}: metrics.jsonl differs: {}\n", step, utf8::printable(what));
        });
    print("{} of {} steps: the same bits as metrics.jsonl, {} of them with grad_xxh3\n", all.same,
          all.steps, all.with_gradients);
    return all.same == all.steps ? kSuccess : kFailure;
}

}  // namespace

void add_rewind(Options& app) {
    auto s = std::make_shared<RewindSettings>();
    Options& o = app.subcommand("rewind", "Replay any step of a run, bit for bit");
    o.example("runs/book --step 350 --inspect page.html");
    add_run_options(o, s->run);
    Option step = o.count("--step", s->step, "Step to replay, counted from 1", {-1000000000});
    Option all = o.flag("--all", s->all, "Replay all steps and compare them with metrics.jsonl");
    o.require_any({"--step", "--all"});
    Option page = o.text("--inspect", s->page,
                         "Write a page with the step's tape, attention, memory and gradients");
    Option print =
        o.flag("--print", s->print, "Print the tape and all attention heads as small maps");
    const Option width = add_width(o, s->text.width);
    all.excludes(step).excludes(page).excludes(print).excludes(width);
    o.run([s] { return s->all ? run_all(*s) : run_rewind(*s); });
}

// ---- bisect

namespace {

struct BisectSettings {
    RunOptions run;
    std::string first;
    std::int64_t after = 0;
};

int run_bisect(const BisectSettings& s) {
    const StepCondition condition = parse_condition(s.first);
    const RunReader run(s.run);
    const FoundStep found = find_first(run.history(), run.replayer(), condition, s.after);
    if (found.step) {
        print("step {}: {}\n", *found.step, found.what);
    } else {
        print("no step{} has {}\n", s.after > 0 ? fmt::format(" after {}", s.after) : "", s.first);
    }
    print("{}\n", looked_at(found, run.history()));
    if (found.step) {
        print("tapestry rewind {} --step {} --inspect page.html\n",
              quoted_for_shell(s.run.directory), *found.step);
    }
    return found.step ? kSuccess : kFailure;
}

}  // namespace

void add_bisect(Options& app) {
    auto s = std::make_shared<BisectSettings>();
    Options& o =
        app.subcommand("bisect", "Find the first step of a run for which a condition holds");
    add_run_options(o, s->run);
    o.text("--first", s->first,
           "'grad_norm > 2', with >, >=, < or <=, of loss, val_loss, grad_norm, update_ratio (the "
           "largest of update over weights) or update_ratio(PARAMETER); or non_finite, of weights")
        .required();
    o.count("--after", s->after, "Search only steps after this one", {0});
    o.run([s] { return run_bisect(*s); });
}

// ---- replay

namespace {

struct ReplaySettings {
    std::string directory, out = "page.html";
    int threads = num_threads();
};

int run_replay(const ReplaySettings& s) {
    set_num_threads(s.threads);
    const std::unique_ptr<Task> task = load_task(s.directory);
    RecordedOutcome then;
    const RecordedStep step = read_step(s.directory, *task, then);
    task->model().train();
    // A loaded model's dropout uses the default generator.
    const ReplayedGradients replayed =
        replay_gradients(*task, step, default_generator(), measure_peak());
    print_text(to_text(step, replayed, then));
    write_page(s.out, *replayed.inspector, page_of(step, replayed, *task, s.directory));
    return kSuccess;
}

}  // namespace

void add_replay(Options& app) {
    auto s = std::make_shared<ReplaySettings>();
    Options& o =
        app.subcommand("replay", "Replay a step saved by `train --trap-nan`, and write its page");
    o.text("directory", s->directory, "OUT/trap of a run").required();
    o.text("--out", s->out, "Page to write, one HTML file");
    o.threads(s->threads);
    o.run([s] { return run_replay(*s); });
}

}  // namespace tapestry::cli
