#include <tapestry/nn/terminal/run_text.h>

#include <tapestry/core/error.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/module/freeze.h>
#include <tapestry/nn/terminal/progress.h>
#include <tapestry/nn/terminal/text_label.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/recipe.h>
#include <tapestry/nn/train/run_directory.h>

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace tapestry {

std::string description_of(const Session& session) {
    const Task& task = session.task();
    const Recipe recipe = session.config().recipe;
    const std::string text = fmt::format(
        "{}\n{}: {}: {} parameters; {}{}\n", task.data_text(), row_of(task.model_config()).title,
        task.shape_text(), task.model().parameter_count(), pluralize(num_threads(), "thread"),
        recipe == Recipe::standard ? "" : fmt::format("; recipe {}", name_of_value(recipe)));
    const std::size_t frozen = frozen_parameters(task.model()).size();
    if (frozen == 0) return text;
    return text + fmt::format("frozen: {} of {} parameter tensors\n", frozen,
                              task.model().parameters().size());
}

std::string to_text(const TrainingResult& result, const std::string& out) {
    const std::string val = result.val_loss ? fmt::format("{:.4f}", *result.val_loss) : "not taken";
    const std::string speed =
        fmt::format("{:.0f} {}/s, {:.0f}% of the peak", result.tokens_per_second, result.unit,
                    100 * result.of_peak);
    return fmt::format("{} steps in {} ({}): loss {:.4f}, validation loss {}\n", result.last.step,
                       clock_text(result.last.seconds), speed, result.last.loss, val) +
           fmt::format("saved in {}{}{}\n{}{}", utf8::printable(out),
                       result.concern.empty() ? "" : ", but ", result.concern, result.plan,
                       result.report);
}

LossCurves loss_curves(const std::string& directory, bool named) {
    const Metrics m = read_metrics(latest_metrics(directory));
    const std::string name = terminal::label_of(directory, 60);
    const std::string of = named ? name + ": " : "";
    LossCurves run{
        fmt::format("{}: step {:.0f}, loss {:.4f}", name, m.steps.back(), m.losses.back()),
        {{of + "loss", m.steps, m.losses}}};
    if (m.val_losses.empty()) return run;
    run.summary += fmt::format(", validation loss {:.4f} at step {:.0f}", m.val_losses.back(),
                               m.eval_steps.back());
    run.curves.push_back({of + "validation loss", m.eval_steps, m.val_losses});
    return run;
}

namespace {

struct SweepRun {
    std::string name;
    std::map<std::string, std::string> options = {};
    double loss = 0, lowest = std::numeric_limits<double>::infinity(), step = 0;
};

SweepRun sweep_run(const std::string& directory) {
    const Metrics m = read_metrics(latest_metrics(directory));
    SweepRun run{.name = terminal::label_of(directory, 40), .loss = m.losses.back()};
    for (std::size_t i = 0; i < m.val_losses.size(); ++i) {
        if (!(m.val_losses[i] < run.lowest)) continue;
        run.lowest = m.val_losses[i];
        run.step = m.eval_steps[i];
    }
    try {
        const RunHistory history(directory);
        const std::size_t last = history.state().segments.size() - 1;
        for (const RecipeLine& line : recipe_lines(history.config_of(last))) {
            run.options[line.name] = line.value;
        }
    } catch (const IoError&) {  // no checkpoint yet, or one is being written
    }
    return run;
}

// The names of the options that differ between runs.
std::vector<std::string> differing(const std::vector<SweepRun>& runs) {
    std::map<std::string, std::set<std::string>> values;
    for (const SweepRun& run : runs) {
        for (const auto& [name, value] : run.options) values[name].insert(value);
    }
    std::vector<std::string> names;
    for (const auto& [name, different] : values) {
        if (different.size() > 1) names.push_back(name);
    }
    return names;
}

}  // namespace

std::string sweep_text(const std::vector<std::string>& directories) {
    std::vector<SweepRun> runs;
    for (const std::string& directory : directories) runs.push_back(sweep_run(directory));
    std::stable_sort(runs.begin(), runs.end(),
                     [](const SweepRun& a, const SweepRun& b) { return a.lowest < b.lowest; });
    const std::vector<std::string> names = differing(runs);
    std::vector<std::vector<std::string>> rows{{"run"}};
    rows[0].insert(rows[0].end(), names.begin(), names.end());
    rows[0].insert(rows[0].end(), {"loss", "lowest validation loss"});
    for (const SweepRun& run : runs) {
        std::vector<std::string>& row = rows.emplace_back(std::vector{run.name});
        for (const std::string& name : names) {
            const auto found = run.options.find(name);
            row.push_back(found == run.options.end() ? "?" : utf8::printable(found->second));
        }
        row.push_back(fmt::format("{:.4f}", run.loss));
        row.push_back(run.step > 0 ? fmt::format("{:.4f} at step {:.0f}", run.lowest, run.step)
                                   : "none");
    }
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            std::size_t width = 0;
            for (const auto& each : rows) width = std::max(width, each[i].size());
            text += i + 1 < row.size() ? fmt::format("{:<{}}  ", row[i], width) : row[i] + "\n";
        }
    }
    return text;
}

}  // namespace tapestry
