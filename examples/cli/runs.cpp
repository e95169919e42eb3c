// tapestry runs: lists the runs below some directories, and writes their numbers for other
// programs.
#include <tapestry/core/file.h>
#include <tapestry/core/text/message.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/nn/terminal/run_text.h>
#include <tapestry/nn/train/run_export.h>
#include <tapestry/nn/train/run_list.h>

#include <memory>

namespace tapestry::cli {
namespace {

struct RunsSettings {
    std::vector<std::string> directories;
    bool csv = false;
    bool json = false;
    std::string steps;
    std::string tensorboard;
};

int run_runs(const RunsSettings& s) {
    const std::vector<std::filesystem::path> found = find_runs(s.directories);
    if (!s.steps.empty()) {
        write_result(s.steps, steps_to_csv(found));
        print("{}: the steps of {}\n", shown(s.steps), pluralize(std::ssize(found), "run"));
    }
    if (!s.tensorboard.empty()) {
        const auto files = write_event_files(found, s.tensorboard);
        print("{}: {}; `tensorboard --logdir {}` shows them\n", shown(s.tensorboard),
              pluralize(std::ssize(files), "event file"), quoted_for_shell(s.tensorboard));
    }
    if (!s.steps.empty() || !s.tensorboard.empty()) return kSuccess;
    const std::vector<RunSummary> runs = run_summaries(found);
    if (s.json) {
        print_json(to_json(runs));
    } else {
        print_text(s.csv ? to_csv(runs) : runs_text(runs));
    }
    return kSuccess;
}

}  // namespace

void add_runs(Options& app) {
    auto s = std::make_shared<RunsSettings>();
    Options& o = app.subcommand("runs", "List runs with their options and results");
    o.example("runs --csv");
    o.texts("directories", s->directories, "Directories of runs, or with runs below them")
        .required();
    const Option csv = o.flag("--csv", s->csv, "Print CSV, with all options");
    const Option json = o.flag("--json", s->json, "Print one JSON array").excludes(csv);
    o.text("--steps", s->steps, "Write the numbers of every step to this CSV file instead")
        .excludes(csv)
        .excludes(json);
    o.text("--tensorboard", s->tensorboard,
           "Write them as event files for TensorBoard into this directory instead")
        .excludes(csv)
        .excludes(json);
    o.run([s] { return run_runs(*s); });
}

}  // namespace tapestry::cli
