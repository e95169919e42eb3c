// tapestry experiment: tests common claims about attention and training.
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/core/parallel.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/run_experiments.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tapestry::cli {
namespace {

struct ExperimentSettings {
    std::vector<std::string> names, compare;
    std::string out, markdown, json;
    experiments::Setting setting;
    std::optional<std::int64_t> seeds;
    int threads = num_threads();
};

int compare(const std::vector<std::string>& files) {
    require<ValueError>(files.size() >= 2, "--compare: needs two files or more, got {}",
                        files.size());
    std::vector<experiments::Results> results;
    for (const std::string& file : files) {
        try {
            results.push_back(experiments::results_from_json(read_file(file)));
            experiments::judged(results.back().found);  // has this program all its claims?
        } catch (const ValueError& error) {
            throw ValueError(fmt::format("{}: {}", file, error.what()));
        }
    }
    for (std::size_t i = 1; i < results.size(); ++i) {
        try {
            print("{}{} and {}:\n{}", i == 1 ? "" : "\n", files[0], files[i],
                  experiments::compare_verdicts(results[0], results[i]));
        } catch (const ValueError& error) {
            throw ValueError(fmt::format("{} and {}: {}", files[0], files[i], error.what()));
        }
    }
    return kSuccess;
}

int run_experiment(const ExperimentSettings& s) {
    if (!s.compare.empty()) return compare(s.compare);
    if (s.names.empty()) {
        print(
            "{}\ntapestry experiment NAME runs one of them, tapestry experiment all runs all "
            "except speedrun\n",
            experiments::list_of_experiments());
        return kSuccess;
    }
    set_num_threads(s.threads);
    experiments::Setting setting = s.setting;
    setting.seeds = s.seeds.value_or(setting.pick(10, 3));
    experiments::run_experiments({.names = s.names,
                                  .setting = setting,
                                  .out = s.out,
                                  .markdown = s.markdown,
                                  .json = s.json},
                                 [](const std::string& text) { print_text(text); });
    return kSuccess;
}

}  // namespace

void add_experiment(Options& app) {
    auto s = std::make_shared<ExperimentSettings>();
    Options& o =
        app.subcommand("experiment", "Claims about attention and training, put to the test");
    o.texts("names", s->names, "Names of experiments, or all; without one, lists them");
    o.text("--out", s->out,
           "Directory for the pictures; default: experiments, or next to --markdown");
    o.text("--markdown", s->markdown, "Also write the findings to this file");
    o.text("--json", s->json,
           "Write all numbers to this file. Several experiments keep what is done in FILE.partial: "
           "after an interruption the same command continues");
    o.flag("--quick", s->setting.quick,
           "Run a shorter, rougher version, and list the verdicts that differ from those of "
           "docs/experiments.md");
    o.seed(s->setting.seed, "First seed");
    o.count("--seeds", s->seeds, "Number of seeds; default: 10, or 3 with --quick",
            {.low = 1, .high = 1000});
    o.text("--model", s->setting.model,
           "Examine the GPT in this directory (for layers_roles, redundant_heads, who_is_it)");
    o.text("--text", s->setting.text, "Train on this text (for speedrun)");
    o.threads(s->threads);
    Option compare =
        o.texts("--compare", s->compare,
                "Run nothing; compare the verdicts in JSON files with those in the first of them");
    for (const char* other : {"names", "--out", "--markdown", "--json", "--quick", "--seed",
                              "--seeds", "--model", "--text", "--threads"}) {
        compare.excludes(o.option(other));
    }
    o.run([s, &o] {
        for (const OptionValue& one : o.values()) {  // without a name, they would have no effect
            require(!s->names.empty() || !s->compare.empty() || !one.given,
                    "experiment: {} is for an experiment; name one, or all", one.name);
        }
        return run_experiment(*s);
    });
}

}  // namespace tapestry::cli
