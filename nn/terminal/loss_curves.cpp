#include <tapestry/nn/terminal/loss_curves.h>

#include <tapestry/nn/terminal/text_label.h>
#include <tapestry/nn/train/read_metrics.h>

#include <fmt/core.h>

namespace tapestry {

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

}  // namespace tapestry
