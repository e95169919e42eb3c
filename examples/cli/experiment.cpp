// tapestry experiment: tests common claims about attention and training.
#include <tapestry/core/parallel.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/examples/school/experiments/registry.h>

#include <optional>

namespace tapestry::cli {
namespace {

struct ExperimentSettings {
    std::string name, out, markdown, json;
    experiments::Setting setting;
    std::optional<std::int64_t> seeds;
    int threads = num_threads();
};

int run_experiment(const ExperimentSettings& s) {
    if (s.name.empty()) {
        print(
            "{}\ntapestry experiment NAME runs one of them, tapestry experiment all runs all "
            "except speedrun\n",
            experiments::list_of_experiments());
        return kSuccess;
    }
    set_num_threads(s.threads);
    experiments::Setting setting = s.setting;
    setting.seeds = s.seeds.value_or(setting.pick(10, 3));
    experiments::run_experiments(
        {.name = s.name, .setting = setting, .out = s.out, .markdown = s.markdown, .json = s.json},
        [](const std::string& text) { print_text(text); });
    return kSuccess;
}

}  // namespace

void add_experiment(Options& app) {
    auto s = std::make_shared<ExperimentSettings>();
    Options& o =
        app.subcommand("experiment", "Claims about attention and training, put to the test");
    o.text("name", s->name, "Name of an experiment, or all; without it, lists them");
    o.text("--out", s->out,
           "Directory for the pictures; default: experiments, or next to --markdown");
    o.text("--markdown", s->markdown, "Also write the findings to this file");
    o.text("--json", s->json, "Write all numbers to this file");
    o.flag("--quick", s->setting.quick, "Run a shorter, rougher version");
    o.seed(s->setting.seed, "First seed");
    o.count("--seeds", s->seeds, "Number of seeds; default: 10, or 3 with --quick",
            {.low = 1, .high = 1000});
    o.text("--model", s->setting.model,
           "Examine the GPT in this directory (for layers_roles, redundant_heads, who_is_it)");
    o.text("--text", s->setting.text, "Train on this text (for speedrun)");
    o.threads(s->threads);
    o.run([s] { return run_experiment(*s); });
}

}  // namespace tapestry::cli
