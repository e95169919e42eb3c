#include <tapestry/nn/train/run_list.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/error.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/message.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/recipe.h>
#include <tapestry/nn/train/run_directory.h>
#include <tapestry/nn/train/run_export.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <system_error>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

bool is_run(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path / kMetricsName, ignored) || fs::exists(path / kNewMetricsName, ignored);
}

bool is_own_directory(const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(fs::symlink_status(path, ignored));
}

void add_runs(const fs::path& path, std::vector<fs::path>& runs) {
    if (is_run(path)) {
        runs.push_back(path);
        return;
    }
    for (const std::string& name : names_in(path)) {
        if (!name.starts_with('.') && is_own_directory(path / name)) add_runs(path / name, runs);
    }
}

// Of the latest checkpoint, for runs of before metrics.jsonl had the configuration.
std::vector<RecipeLine> options_in_checkpoint(const fs::path& directory) {
    try {
        const RunHistory history(directory);
        return recipe_lines(history.config_of(history.state().segments.size() - 1));
    } catch (const IoError&) {  // none yet, or one is being written
        return {};
    }
}

// All that is known of a configuration that this program cannot read, because its task is not
// registered here.
std::vector<RecipeLine> task_in(const std::string& config, const std::string& name) {
    try {
        return {{"--task", ConfigFile(config, name).get<std::string>("task"), {}}};
    } catch (const IoError&) {
        return {};
    }
}

// `tokens_per_step` stays as it is if the configuration cannot be read.
std::vector<RecipeLine> options_in(const std::string& config, const std::string& name,
                                   std::int64_t& tokens_per_step) {
    try {
        const TrainingConfig trained = training_config_from_json(config, name);
        tokens_per_step = trained.tokens_per_step();
        return recipe_lines(trained);
    } catch (const IoError&) {
        return task_in(config, name);
    }
}

RunSummary summary_of(const fs::path& directory) {
    const fs::path file = latest_metrics(directory);
    const Metrics m = read_metrics_so_far(file);
    RunSummary run{
        .name = directory.string(), .seconds = m.seconds, .bytes = directory_bytes(directory)};
    if (!m.steps.empty()) {
        run.steps = static_cast<std::int64_t>(m.steps.back());
        run.loss = m.losses.back();
    }
    double lowest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < m.val_losses.size(); ++i) {
        if (!(m.val_losses[i] < lowest)) continue;
        lowest = m.val_losses[i];
        run.lowest = {static_cast<std::int64_t>(m.eval_steps[i]), lowest};
    }
    if (const auto end = read_run_end(file))
        run.state = end->interrupted ? "interrupted" : "finished";
    const std::string config = read_run_config(file);
    if (config.empty()) {
        run.options = options_in_checkpoint(directory);
        return run;
    }
    std::int64_t tokens_per_step = 0;
    run.options = options_in(config, shown(file), tokens_per_step);
    const double tokens = static_cast<double>(tokens_per_step) * static_cast<double>(run.steps);
    if (run.seconds > 0) run.tokens_per_second = tokens / run.seconds;
    return run;
}

}  // namespace

std::vector<fs::path> find_runs(const std::vector<std::string>& paths) {
    std::vector<fs::path> runs;
    for (const std::string& path : paths) {
        std::error_code ignored;
        require<IoError>(fs::is_directory(path, ignored), "{}: not a directory", shown(path));
        add_runs(path, runs);
    }
    std::set<fs::path> seen;  // "a", "a/" and "./a" are one run, by the first of these names
    std::erase_if(runs, [&](const fs::path& run) {
        std::error_code gone;
        const fs::path real = fs::canonical(run, gone);
        return !seen.insert(gone ? run : real).second;
    });
    std::sort(runs.begin(), runs.end());
    require<IoError>(!runs.empty(), "{}: no run there: none of its folders has a {}",
                     shown(paths.empty() ? "." : paths.front()), kMetricsName);
    return runs;
}

std::string RunSummary::option(const std::string& option_name) const {
    const auto found = std::find_if(options.begin(), options.end(), [&](const RecipeLine& line) {
        return line.name == option_name;
    });
    return found == options.end() ? "?" : found->value;
}

std::vector<RunSummary> run_summaries(const std::vector<fs::path>& directories) {
    std::vector<RunSummary> runs;
    for (const fs::path& directory : directories) runs.push_back(summary_of(directory));
    const auto rank = [](const RunSummary& run) {
        return run.lowest.step > 0 ? run.lowest.value : std::numeric_limits<double>::infinity();
    };
    std::stable_sort(runs.begin(), runs.end(),
                     [&](const RunSummary& a, const RunSummary& b) { return rank(a) < rank(b); });
    return runs;
}

namespace {

// Every option of any run, with its different values.
std::map<std::string, std::set<std::string>> option_values(const std::vector<RunSummary>& runs) {
    std::map<std::string, std::set<std::string>> values;
    for (const RunSummary& run : runs) {
        for (const RecipeLine& line : run.options) values[line.name].insert(line.value);
    }
    return values;
}

}  // namespace

std::vector<std::string> differing_options(const std::vector<RunSummary>& runs) {
    std::vector<std::string> names;
    for (const auto& [name, values] : option_values(runs)) {
        if (values.size() > 1) names.push_back(name);
    }
    return names;
}

double directory_bytes(const fs::path& directory) {
    double bytes = 0;
    for (const std::string& name : names_in(directory)) {
        const fs::path path = directory / name;
        std::error_code ignored;
        const fs::file_status status = fs::symlink_status(path, ignored);
        if (fs::is_directory(status)) bytes += directory_bytes(path);
        if (!fs::is_regular_file(status)) continue;
        const std::uintmax_t size = fs::file_size(path, ignored);
        if (!ignored) bytes += static_cast<double>(size);
    }
    return bytes;
}

std::string to_csv(const std::vector<RunSummary>& runs) {
    std::vector<std::string> names{"run",     "state",           "steps",
                                   "loss",    "lowest_val_loss", "lowest_step",
                                   "seconds", "tokens_per_s",    "bytes"};
    const auto values = option_values(runs);
    for (const auto& [name, different] : values) names.push_back(name);
    std::string text = csv_line(names);
    for (const RunSummary& run : runs) {
        const bool known = run.lowest.step > 0;
        std::vector<std::string> row{run.name,
                                     run.state,
                                     std::to_string(run.steps),
                                     csv_number(run.loss),
                                     known ? csv_number(run.lowest.value) : "",
                                     known ? std::to_string(run.lowest.step) : "",
                                     csv_number(run.seconds),
                                     csv_number(run.tokens_per_second),
                                     csv_number(run.bytes)};
        for (const auto& [name, different] : values) {
            const std::string value = run.option(name);
            row.push_back(value == "?" ? "" : value);
        }
        text += csv_line(row);
    }
    return text;
}

std::string to_json(const std::vector<RunSummary>& runs) {
    JsonWriter json;
    json.array([&] {
        for (const RunSummary& run : runs) {
            json.object([&] {
                json.members("run", run.name, "state", run.state, "steps", run.steps, "loss",
                             run.loss, "seconds", run.seconds, "tokens_per_s",
                             run.tokens_per_second, "bytes", run.bytes);
                if (run.lowest.step > 0) {
                    json.members("lowest_val_loss", run.lowest.value, "lowest_step",
                                 run.lowest.step);
                }
                json.member("options", [&] {
                    json.object([&] {
                        for (const RecipeLine& line : run.options) {
                            json.member(line.name, line.value);
                        }
                    });
                });
            });
        }
    });
    return json.text();
}

}  // namespace tapestry
