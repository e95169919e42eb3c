// tapestry curve: the loss curves of runs in the terminal, also while they train.
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/nn/terminal/run_text.h>

namespace tapestry::cli {
namespace {

struct CurveSettings {
    std::vector<std::string> directories;
    TextPlotOptions plot{.width = terminal_columns(), .x_label = "step"};
};

int run_curve(const CurveSettings& s) {
    std::vector<TextCurve> curves;
    for (const std::string& directory : s.directories) {
        const LossCurves run = loss_curves(directory, s.directories.size() > 1);
        print("{}\n", run.summary);
        curves.insert(curves.end(), run.curves.begin(), run.curves.end());
    }
    print("\n{}", text_plot(curves, s.plot));
    if (s.directories.size() > 1) print("\n{}", sweep_text(s.directories));
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
