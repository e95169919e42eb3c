// tapestry bisect: the first step of a training for which something holds.
#include <tapestry/examples/cli/command_line.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/run_options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/train/bisect.h>

#include <fmt/core.h>

namespace tapestry::cli {
namespace {

struct BisectSettings {
    RunOptions run;
    std::string first;
    std::int64_t after = 0;
};

int run_bisect(const BisectSettings& s) {
    const StepCondition condition = parse_condition(s.first);
    const RunReader run(s.run);
    const FoundStep found = find_first(run.history(), run.rewinder(), condition, s.after);
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
        app.subcommand("bisect", "Find the first step of a training for which something holds");
    add_run_options(o, s->run);
    o.text("--first", s->first,
           "'grad_norm > 2', with >, >=, < or <=, of loss, val_loss, grad_norm, update_ratio (the "
           "largest of update over weights) or update_ratio(PARAMETER); or non_finite, of weights")
        .required();
    o.count("--after", s->after, "Only steps after this one", {0});
    o.run([s] { return run_bisect(*s); });
}

}  // namespace tapestry::cli
