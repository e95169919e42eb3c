// tapestry curve: the losses of trainings as curves in the terminal, also while they run.
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/nn/terminal/text_label.h>
#include <tapestry/nn/terminal/text_plot.h>
#include <tapestry/nn/train/read_metrics.h>

#include <fmt/core.h>

#include <memory>

namespace tapestry::cli {
namespace {

struct CurveSettings {
    std::vector<std::string> directories;
    TextPlotOptions plot{.width = terminal_columns(), .x_label = "step"};
};

std::string summary(const std::string& name, const Metrics& m) {
    std::string text =
        fmt::format("{}: step {:.0f}, loss {:.4f}", name, m.steps.back(), m.losses.back());
    if (!m.val_losses.empty()) {
        text += fmt::format(", validation loss {:.4f} at step {:.0f}", m.val_losses.back(),
                            m.eval_steps.back());
    }
    return text;
}

int run_curve(const CurveSettings& s) {
    std::vector<TextCurve> curves;
    for (const std::string& directory : s.directories) {
        const Metrics m = read_metrics(latest_metrics(directory));
        const std::string name = terminal::label_of(directory, 60);
        const std::string of = s.directories.size() > 1 ? name + ": " : "";
        curves.push_back({of + "loss", m.steps, m.losses});
        if (!m.val_losses.empty()) {
            curves.push_back({of + "validation loss", m.eval_steps, m.val_losses});
        }
        fmt::print("{}\n", summary(name, m));
    }
    fmt::print("\n{}", text_plot(curves, s.plot));
    return kSuccess;
}

}  // namespace

void add_curve(Options& app) {
    auto s = std::make_shared<CurveSettings>();
    Options& o = app.subcommand(
        "curve", "Draw loss and validation loss in the terminal, also while a training runs");
    o.texts("directories", s->directories,
            "What `tapestry train` was given as --out; several are drawn together")
        .required();
    o.flag("--log", s->plot.log_y, "Losses on a logarithmic axis");
    add_width(o, s->plot.width);
    o.count("--height", s->plot.height, "Rows of the curves", {4, 1000});
    o.run([s] { return run_curve(*s); });
}

}  // namespace tapestry::cli
