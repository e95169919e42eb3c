// The losses of a run, as its directory has them, to be drawn: also while it goes on.
//
//     const LossCurves run = loss_curves("model");
//     fmt::print("{}\n\n{}", run.summary, text_plot(run.curves, {.x_label = "step"}));
//
// Read next: read_metrics.h, where they come from; nn/terminal/text_plot.h, which draws them.
#pragma once

#include <tapestry/nn/terminal/text_plot.h>

#include <string>
#include <vector>

namespace tapestry {

struct LossCurves {
    std::string summary;  ///< "m: step 500, loss 1.4632, validation loss 1.52 at step 500"
    std::vector<TextCurve> curves;  ///< "loss", and "validation loss" if one was taken
};

/// `named`: the curves' names say of which directory they are. Throws as read_metrics does.
LossCurves loss_curves(const std::string& directory, bool named = false);

}  // namespace tapestry
