#include <tapestry/nn/terminal/run_text.h>

#include <tapestry/autograd/print.h>
#include <tapestry/core/error.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/fixed_text.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/text_table.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/models/lora.h>
#include <tapestry/nn/module/freeze.h>
#include <tapestry/nn/terminal/progress.h>
#include <tapestry/nn/terminal/text_label.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/recipe.h>
#include <tapestry/nn/train/run_directory.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace tapestry {

namespace {

// What a recipe's model cannot be exported to, while that can still be changed.
std::string export_note(const Session& session) {
    const ModelConfig model = session.task().model_config();
    const auto* const gpt = std::get_if<GPTConfig>(&model);
    if (gpt == nullptr || session.config().recipe == Recipe::standard) return "";
    const std::string obstacle = export_obstacle(*gpt);
    if (obstacle.empty()) return "";
    return fmt::format(
        "`tapestry export` cannot write this model: {}; --exportable trains one that "
        "it can\n",
        obstacle);
}

}  // namespace

std::string description_of(const Session& session) {
    const Task& task = session.task();
    const Recipe recipe = session.config().recipe;
    const std::string text = fmt::format(
        "{}\n{}: {}: {} parameters; {}{}\n", task.data_text(), row_of(task.model_config()).title,
        task.shape_text(), weight_count(task.model()), pluralize(num_threads(), "thread"),
        recipe == Recipe::standard ? "" : fmt::format("; recipe {}", name_of_value(recipe)));
    const std::string about = text + export_note(session);
    const std::size_t frozen = frozen_parameters(task.model()).size();
    if (frozen == 0) return about;
    if (const std::string lora = lora_text(task.model()); !lora.empty()) return about + lora + "\n";
    return about + fmt::format("frozen: {} of {} parameter tensors\n", frozen,
                               task.model().parameters().size());
}

namespace {

std::string how_to_resume(const TrainingResult& result) {
    return result.resumable ? "; --resume continues"
                            : "; it has no checkpoint (--checkpoint-every 0), so it cannot resume";
}

// " (28.3 MB)"
std::string weight_of(const TrainingResult& result) {
    if (result.bytes <= 0) return "";
    return fmt::format(" ({})", bytes_text(static_cast<std::uint64_t>(result.bytes)));
}

}  // namespace

std::string to_text(const TrainingResult& result, const std::string& out) {
    const std::string val = result.val_loss ? fixed_text(*result.val_loss) : "not taken";
    const std::string speed =
        fmt::format("{:.0f} {}/s, {:.0f}% of the peak", result.tokens_per_second, result.unit,
                    100 * result.of_peak);
    const std::string so_far =
        result.interrupted
            ? fmt::format("interrupted at step {} of {}{}\n", result.last.step,
                          result.minutes > 0 ? fmt::format("{} minutes", result.minutes)
                                             : std::to_string(result.steps),
                          how_to_resume(result))
            : "";
    return so_far +
           fmt::format("{} in {} ({}): loss {}, validation loss {}\n",
                       pluralize(result.last.step, "step"), clock_text(result.last.seconds), speed,
                       fixed_text(result.last.loss), val) +
           fmt::format("saved in {}{}{}{}\n{}{}", utf8::printable(out), weight_of(result),
                       result.concern.empty() ? "" : ", but ", result.concern, result.plan,
                       result.report);
}

LossCurves loss_curves(const std::string& directory, bool named) {
    const Metrics m = read_metrics(latest_metrics(directory));
    const std::string name = terminal::label_of(directory, 60);
    const std::string of = named ? name + ": " : "";
    LossCurves run{
        fmt::format("{}: step {:.0f}, loss {}", name, m.steps.back(), fixed_text(m.losses.back())),
        {{of + "loss", m.steps, m.losses}}};
    if (m.val_losses.empty()) return run;
    run.summary += fmt::format(", validation loss {} at step {:.0f}",
                               fixed_text(m.val_losses.back()), m.eval_steps.back());
    run.curves.push_back({of + "validation loss", m.eval_steps, m.val_losses});
    return run;
}

std::string sweep_text(const std::vector<std::string>& directories) {
    return runs_text(run_summaries({directories.begin(), directories.end()}));
}

std::string runs_text(const std::vector<RunSummary>& runs) {
    constexpr std::size_t kMost = 5;  // options in columns: a line fits a terminal
    std::vector<std::string> names = differing_options(runs), others;
    if (names.size() > kMost) {
        others.assign(names.begin() + kMost, names.end());
        names.resize(kMost);
    }
    std::vector<std::vector<std::string>> rows{{"run"}};
    rows[0].insert(rows[0].end(), names.begin(), names.end());
    rows[0].insert(rows[0].end(), {"loss", "lowest validation loss", "state", "disk"});
    for (const RunSummary& run : runs) {
        std::vector<std::string>& row =
            rows.emplace_back(std::vector{terminal::label_of(run.name, 40)});
        for (const std::string& name : names) {
            row.push_back(terminal::label_of(run.option(name), 20));
        }
        row.push_back(run.steps == 0 ? "" : fixed_text(run.loss));
        row.push_back(
            run.lowest.step > 0
                ? fmt::format("{} at step {}", fixed_text(run.lowest.value), run.lowest.step)
                : "none");
        row.push_back(fmt::format("{} at step {}", run.state, run.steps));
        row.push_back(bytes_text(static_cast<std::uint64_t>(run.bytes)));
    }
    const std::string table = terminal::text_table(rows, std::string(names.size() + 5, 'l'));
    if (others.empty()) return table;
    return table + fmt::format("also different, see --csv: {}\n", fmt::join(others, ", "));
}

}  // namespace tapestry
