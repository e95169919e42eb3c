// The list of experiments. A new experiment needs its file, a declaration and a line in the list.
// Each has its own namespace, because most use the same names for helpers: trials, report.
#include <tapestry/examples/school/experiments/registry.h>

#include <tapestry/core/cpu.h>
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/core/version.h>
#include <tapestry/examples/school/experiments/render.h>

#include <algorithm>

namespace tapestry::experiments {

// clang-format off
namespace sqrt_dk { Experiment experiment(); }
namespace by_hand { Experiment experiment(); }
namespace balanced_key { Experiment experiment(); }
namespace head_roles { Experiment experiment(); }
namespace rotary_filters { Experiment experiment(); }
namespace head_dropout { Experiment experiment(); }
namespace redundant_heads { Experiment experiment(); }
namespace word_order { Experiment experiment(); }
namespace who_is_it { Experiment experiment(); }
namespace how_far { Experiment experiment(); }
namespace quadratic_cost { Experiment experiment(); }
namespace heads_cost { Experiment experiment(); }
namespace checkpointing { Experiment experiment(); }
namespace deep_gradients { Experiment experiment(); }
namespace layers_roles { Experiment experiment(); }
namespace what_goes_wrong { Experiment experiment(); }
namespace dynamic_weights { Experiment experiment(); }
namespace three_copies { Experiment experiment(); }
namespace kernel_regression { Experiment experiment(); }
namespace positions_unique { Experiment experiment(); }
namespace parallel_or_serial { Experiment experiment(); }
namespace without_norm { Experiment experiment(); }
namespace scaling { Experiment experiment(); }
namespace head_dropout_generalises { Experiment experiment(); }
namespace speedrun { Experiment experiment(); }
// clang-format on

const std::vector<Experiment>& all_experiments() {
    static const std::vector<Experiment> all{
        sqrt_dk::experiment(),
        by_hand::experiment(),
        balanced_key::experiment(),
        head_roles::experiment(),
        rotary_filters::experiment(),
        head_dropout::experiment(),
        redundant_heads::experiment(),
        word_order::experiment(),
        who_is_it::experiment(),
        how_far::experiment(),
        quadratic_cost::experiment(),
        heads_cost::experiment(),
        checkpointing::experiment(),
        deep_gradients::experiment(),
        layers_roles::experiment(),
        what_goes_wrong::experiment(),
        dynamic_weights::experiment(),
        three_copies::experiment(),
        kernel_regression::experiment(),
        positions_unique::experiment(),
        parallel_or_serial::experiment(),
        without_norm::experiment(),
        scaling::experiment(),
        head_dropout_generalises::experiment(),
    };
    return all;
}

const std::vector<Experiment>& experiments_apart() {
    static const std::vector<Experiment> apart{speedrun::experiment()};
    return apart;
}

const Experiment& find_experiment(std::string_view name) {
    std::string names;
    for (const auto* list : {&all_experiments(), &experiments_apart()}) {
        for (const Experiment& e : *list) {
            if (e.name == name) return e;
            names += (names.empty() ? "" : ", ") + e.name;
        }
    }
    throw ValueError(fmt::format("no experiment is called '{}'; there are {}", name, names));
}

// ---- running them

namespace {

namespace fs = std::filesystem;

fs::path figures_folder(const RunOptions& options) {
    if (!options.out.empty()) return options.out;
    if (options.markdown.empty()) return "experiments";
    return fs::path(options.markdown).replace_extension();
}

// The folder's path as seen from the Markdown file.
std::string link_to(const fs::path& folder, const fs::path& markdown) {
    const auto from = fs::absolute(markdown).parent_path();
    return fs::absolute(folder).lexically_normal().lexically_proximate(from.lexically_normal());
}

// The command line that reproduces the run, without the threads, which do not affect the results.
std::string command_of(const RunOptions& o) {
    std::string command = fmt::format(
        "TAPESTRY_ISA={} tapestry experiment {}{} --seed {} --seeds {}", name_of(current_isa()),
        o.name, o.setting.quick ? " --quick" : "", o.setting.seed, o.setting.seeds);
    if (!o.setting.model.empty()) command += " --model " + o.setting.model;
    if (!o.setting.text.empty()) command += " --text " + o.setting.text;
    if (!o.json.empty()) command += " --json " + o.json.native();
    if (!o.markdown.empty()) command += " --markdown " + o.markdown.native();
    return command;
}

// Fails before the work begins, which may take minutes.
void check_place(const fs::path& file) {
    if (file.empty()) return;
    const auto folder = fs::absolute(file).parent_path();
    require<IoError>(fs::is_directory(folder), "{}: there is no directory {}", file.native(),
                     folder.native());
}

std::vector<Experiment> chosen_by(const RunOptions& options) {
    std::vector<Experiment> chosen = all_experiments();
    if (options.name != "all") chosen = {find_experiment(options.name)};
    for (const Experiment& e : chosen) {
        require<ValueError>(options.setting.model.empty() || e.takes_model,
                            "--model: experiment {} asks no model in a directory", e.name);
        require<ValueError>(options.setting.text.empty() || e.takes_text,
                            "--text: experiment {} learns from no text in a file", e.name);
    }
    return chosen;
}

std::string told_of(const Experiment& experiment, const Found& found, const fs::path& folder) {
    std::string text = to_text(experiment, found.report) + "\n";
    for (const fs::path& path : write_figures(experiment, found.report, folder)) {
        text += fmt::format("picture: {}\n", path.native());
    }
    return text + fmt::format("{:.1f} s\n\n", found.seconds);
}

}  // namespace

void run_experiments(const RunOptions& options,
                     const std::function<void(const std::string&)>& told) {
    const std::vector<Experiment> chosen = chosen_by(options);
    check_place(options.markdown);
    check_place(options.json);
    const fs::path folder = figures_folder(options);
    Results results{.command = command_of(options),
                    .version = std::string(version()),
                    .isa = std::string(name_of(current_isa())),
                    .seed = options.setting.seed,
                    .seeds = options.setting.seeds,
                    .quick = options.setting.quick,
                    .found = {}};
    for (const Experiment& experiment : chosen) {
        results.found.push_back(run(experiment, options.setting));
        told(told_of(experiment, results.found.back(), folder));
    }
    if (chosen.size() > 1) told(to_text(table_of_claims(results.found)));
    if (!options.json.empty()) write_file_atomically(options.json, to_json(results));
    if (!options.markdown.empty()) {
        write_file_atomically(options.markdown,
                              to_page(results, link_to(folder, options.markdown)));
    }
}

std::string list_of_experiments() {
    const auto lists = {&all_experiments(), &experiments_apart()};
    std::size_t widest = 0;
    for (const auto* list : lists) {
        for (const Experiment& e : *list) widest = std::max(widest, e.name.size());
    }
    std::string text;
    for (const auto* list : lists) {
        for (const Experiment& e : *list) {
            text += fmt::format("{:{}}  {}\n", e.name, widest, e.question);
        }
    }
    return text;
}

}  // namespace tapestry::experiments
