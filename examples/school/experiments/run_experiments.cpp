// Runs experiments, keeps what is done. Implements run_experiments.h but for comparisons
// (compare_verdicts.cpp).
#include <tapestry/examples/school/experiments/run_experiments.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/clock.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/version.h>
#include <tapestry/examples/school/experiments/page_verdicts.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/render.h>
#include <tapestry/nn/io/manifest.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace tapestry::experiments {
namespace {

namespace fs = std::filesystem;

// CPU seconds of each with ten seeds, tuning included, on a core of a server with AVX2.
constexpr std::pair<const char*, double> kCpuSeconds[] = {
    {"sqrt_dk", 1090},
    {"by_hand", 0},
    {"balanced_key", 220},
    {"head_roles", 250},
    {"rotary_filters", 80},
    {"head_dropout", 380},
    {"redundant_heads", 300},
    {"word_order", 0},
    {"who_is_it", 440},
    {"how_far", 440},
    {"quadratic_cost", 530},
    {"heads_cost", 560},
    {"checkpointing", 56},
    {"deep_gradients", 39},
    {"layers_roles", 850},
    {"what_goes_wrong", 850},
    {"dynamic_weights", 140},
    {"three_copies", 190},
    {"kernel_regression", 100},
    {"positions_unique", 46},
    {"parallel_or_serial", 2900},  // both threads for 24 minutes
    {"without_norm", 680},
    {"scaling", 1000},
    {"head_dropout_generalises", 290},
};

double expected_cpu_seconds(const Experiment& experiment, const Setting& setting) {
    const auto* const found = std::ranges::find_if(
        kCpuSeconds, [&](const auto& e) { return experiment.name == e.first; });
    const double ten = found == std::end(kCpuSeconds) ? 0 : found->second;
    return ten * static_cast<double>(setting.seeds) / 10;
}

double expected_cpu_seconds(const std::vector<Experiment>& experiments, const Setting& setting,
                            const std::vector<Found>& done) {
    double seconds = 0;
    for (const Experiment& e : experiments) {
        const bool is_done = std::ranges::find(done, e.name, &Found::name) != done.end();
        seconds += is_done ? 0 : expected_cpu_seconds(e, setting);
    }
    return seconds;
}

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
    std::string command =
        fmt::format("TAPESTRY_ISA={} tapestry experiment {}{} --seed {} --seeds {}",
                    name_of(current_isa()), fmt::join(o.names, " "),
                    o.setting.quick ? " --quick" : "", o.setting.seed, o.setting.seeds);
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
    std::vector<Experiment> chosen;
    for (const std::string& name : options.names) {
        require<ValueError>(name != "all" || options.names.size() == 1,
                            "all experiments, or some by name: got {}",
                            fmt::join(options.names, ", "));
        if (name == "all") {
            chosen = all_experiments();
        } else {
            require<ValueError>(std::ranges::count(options.names, name) == 1,
                                "experiment {} is named twice", name);
            chosen.push_back(find_experiment(name));
        }
    }
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

// Whether the folder has all figures of a result, which does not include them.
bool has_figures(const Found& found, const fs::path& folder) {
    return std::ranges::all_of(found.report.figures, [&](const Figure& figure) {
        return fs::exists(folder / file_name(find_experiment(found.name), figure));
    });
}

// What a run that continues must have the same: the command, the folder of its figures, and the
// contents of the files that it reads.
std::string kind_of(const RunOptions& options, const fs::path& folder) {
    std::string kind = command_of(options) + " --out " + fs::absolute(folder).native();
    const fs::path weights = fs::path(options.setting.model) / kWeightsName;
    if (!options.setting.model.empty() && fs::exists(weights)) {
        kind += ", model " + digest_of_file(weights).checksum;
    }
    if (!options.setting.text.empty()) {
        kind += ", text " + digest_of_file(options.setting.text).checksum;
    }
    return kind;
}

/// What an interrupted run of several experiments leaves: the results so far, next to the JSON.
class Partial {
public:
    Partial(const RunOptions& options, const fs::path& folder, std::size_t experiments) {
        if (options.json.empty() || experiments < 2) return;
        file_ = options.json;
        file_ += ".partial";
        program_ = checksum_of(read_file("/proc/self/exe"));
        kind_ = kind_of(options, folder);
        folder_ = folder;
    }

    /// The results of an earlier run of this kind by this very program, except those whose figures
    /// are missing. Those of another are renamed.
    std::vector<Found> read(const std::function<void(const std::string&)>& told) const {
        if (file_.empty() || !fs::exists(file_)) return {};
        Results earlier = [&] {
            try {
                return results_from_json(read_file(file_));
            } catch (const ValueError& error) {
                throw ValueError(fmt::format("{}: {}", file_.native(), error.what()));
            }
        }();
        if (earlier.program == program_ && earlier.command == kind_) {
            std::erase_if(earlier.found, [&](const Found& f) { return !has_figures(f, folder_); });
            return earlier.found;
        }
        const fs::path old = file_.native() + ".old";
        fs::rename(file_, old);
        told(fmt::format("{}: of another {}, so it is not used, and is now {}: {}\n\n",
                         file_.native(), earlier.program == program_ ? "command" : "program",
                         old.native(), earlier.command));
        return {};
    }

    void write(Results results) const {
        if (file_.empty()) return;
        results.program = program_;
        results.command = kind_;
        write_file_atomically(file_, to_json(results));
    }

    void remove() const {
        if (!file_.empty()) fs::remove(file_);
    }

private:
    fs::path file_;  // empty: nothing is kept
    fs::path folder_;
    std::string program_, kind_;
};

std::string minutes(double seconds) { return fmt::format("{:.1f} minutes", seconds / 60); }

}  // namespace

std::string plan_of(const std::vector<Experiment>& experiments, const Setting& setting, int threads,
                    const std::vector<Found>& done) {
    std::string text = fmt::format("{} experiments with {} seeds from {}", experiments.size(),
                                   setting.seeds, setting.seed);
    if (!done.empty()) text += fmt::format(", {} of them done before", done.size());
    if (setting.quick) return text + "\n\n";
    const double cpu = expected_cpu_seconds(experiments, setting, done);
    Table table{fmt::format("{}: about {} of CPU, {} on {} threads", text, minutes(cpu),
                            minutes(cpu / threads), threads),
                {"experiment", "CPU minutes", ""},
                {}};
    for (const Experiment& e : experiments) {
        const bool is_done = std::ranges::find(done, e.name, &Found::name) != done.end();
        table.rows.push_back(
            {e.name, fixed(expected_cpu_seconds(e, setting) / 60, 1), is_done ? "done" : ""});
    }
    return to_text(table) + "\n";
}

void run_experiments(const RunOptions& options,
                     const std::function<void(const std::string&)>& told) {
    const std::vector<Experiment> chosen = chosen_by(options);
    check_place(options.markdown);
    check_place(options.json);
    const fs::path folder = figures_folder(options);
    require<IoError>(!fs::exists(folder) || fs::is_directory(folder), "{}: not a directory",
                     folder.native());
    Results results{.command = command_of(options),
                    .version = std::string(version()),
                    .isa = std::string(name_of(current_isa())),
                    .seed = options.setting.seed,
                    .seeds = options.setting.seeds,
                    .quick = options.setting.quick,
                    .found = {}};
    const Partial partial(options, folder, chosen.size());
    const std::vector<Found> before = partial.read(told);
    if (chosen.size() > 1) told(plan_of(chosen, options.setting, num_threads(), before));
    const Clock::time_point start = Clock::now();
    for (const Experiment& experiment : chosen) {
        const auto done = std::ranges::find(before, experiment.name, &Found::name);
        if (done != before.end()) {
            results.found.push_back(*done);
            continue;
        }
        results.found.push_back(run(experiment, options.setting));
        // Writes the figures, which a run that continues from the results does not have.
        const std::string text = told_of(experiment, results.found.back(), folder);
        partial.write(results);
        told(text);
        if (chosen.size() > 1) {
            told(fmt::format("{} of {} experiments done, {} since the start\n\n",
                             results.found.size(), chosen.size(), minutes(seconds_since(start))));
        }
    }
    if (chosen.size() > 1) told(to_text(table_of_claims(results.found)));
    if (options.setting.quick && options.setting.model.empty()) told(against_page(results.found));
    if (!options.json.empty()) write_file_atomically(options.json, to_json(results));
    if (!options.markdown.empty()) {
        write_file_atomically(options.markdown,
                              to_page(results, link_to(folder, options.markdown)));
    }
    partial.remove();
}

}  // namespace tapestry::experiments
