// tapestry curve: the loss curves of runs in the terminal, also while they train.
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/nn/terminal/run_text.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace tapestry::cli {
namespace {

struct CurveSettings {
    std::vector<std::string> directories;
    TextPlotOptions plot{.width = terminal_columns(), .x_label = "step"};
};

// The directories whose curves can be drawn together: all, or those with the lowest validation
// losses, in their order on the command line.
std::vector<std::string> drawable(const std::vector<std::string>& directories) {
    constexpr std::size_t kCurvesOfRun = 2, kMost = kMostTextCurves / kCurvesOfRun;
    if (directories.size() <= kMost) return directories;
    std::set<std::string> best;
    for (const RunSummary& run : run_summaries({directories.begin(), directories.end()})) {
        if (best.size() < kMost) best.insert(run.name);
    }
    std::vector<std::string> drawn;
    for (const std::string& directory : directories) {
        if (best.erase(directory) > 0) drawn.push_back(directory);
    }
    return drawn;
}

// A run that has diverged, or one without an error, may have none.
bool has_point(const std::vector<TextCurve>& curves, bool log_y) {
    return std::any_of(curves.begin(), curves.end(), [log_y](const TextCurve& curve) {
        return std::any_of(curve.y.begin(), curve.y.end(), [log_y](double loss) {
            return std::isfinite(loss) && (loss > 0 || !log_y);
        });
    });
}

int run_curve(const CurveSettings& s) {
    const bool several = s.directories.size() > 1;
    const std::vector<std::string> drawn = drawable(s.directories);
    std::vector<TextCurve> curves;
    for (const std::string& directory : drawn) {
        const LossCurves run = loss_curves(directory, several);
        print("{}\n", run.summary);
        curves.insert(curves.end(), run.curves.begin(), run.curves.end());
    }
    if (drawn.size() < s.directories.size()) {
        print("drawn: the {} of {} runs with the lowest validation losses\n", drawn.size(),
              s.directories.size());
    }
    require(has_point(curves, s.plot.log_y), "{}: no point can be drawn: no loss is a {}number",
            fmt::join(s.directories, ", "), s.plot.log_y ? "positive " : "");
    print("\n{}", text_plot(curves, s.plot));
    if (several) print("\n{}", sweep_text(s.directories));
    return kSuccess;
}

}  // namespace

void add_curve(Options& app) {
    auto s = std::make_shared<CurveSettings>();
    Options& o =
        app.subcommand("curve", "Draw loss and validation loss in the terminal, also during a run");
    o.example("runs/book runs/other --log");
    o.texts("directories", s->directories,
            "Run directory (--out of `tapestry train`); several are drawn together")
        .required();
    o.flag("--log", s->plot.log_y, "Losses on a logarithmic axis");
    add_width(o, s->plot.width);
    o.count("--height", s->plot.height, "Height of the plot in rows", {4, 1000});
    o.run([s] { return run_curve(*s); });
}

}  // namespace tapestry::cli
