// Texts about training runs: what a run is about to do and how it went, its loss curves, and a
// comparison of several runs. Read next: nn/train/session.h and training_run.h.
#pragma once

#include <tapestry/nn/terminal/text_plot.h>
#include <tapestry/nn/train/run_list.h>
#include <tapestry/nn/train/training_run.h>

#include <string>
#include <vector>

namespace tapestry {

/// A line about the text, its size and split; one about the model; one more if part of it is
/// frozen.
std::string description_of(const Session& session);

/// "500 steps in 1:05 (61031 tokens/s, 48% of the peak): loss 1.4632, validation loss 1.5208", and
/// lines on where it was saved and what that weighs, anything the user should know, and where the
/// report is. Before them, for a run that was interrupted, "interrupted at step 50 of 500; --resume
/// continues".
std::string to_text(const TrainingResult& result, const std::string& out);

// ---- loss curves --------------------------------------------------------------------------------

// The losses of a run, read from its directory for plotting, also while it trains.
//
//     const LossCurves run = loss_curves("model");
//     fmt::print("{}\n\n{}", run.summary, text_plot(run.curves, {.x_label = "step"}));
//
// Read next: nn/train/metrics_file.h, their source; text_plot.h, which plots them.

/// A run's losses, and a line about them.
struct LossCurves {
    std::string summary;  ///< "m: step 500, loss 1.4632, validation loss 1.52 at step 500"
    std::vector<TextCurve> curves;  ///< "loss", and "validation loss" if there is one
};

/// `named`: put the directory into the curves' names. Throws as read_metrics does.
LossCurves loss_curves(const std::string& directory, bool named = false);

// ---- several runs -------------------------------------------------------------------------------

// The options in which several runs differ, and the result of each.
//
//     fmt::print("{}", sweep_text({"runs/lr-1e-3", "runs/lr-3e-3"}));
//
//     run           --lr   loss    lowest validation loss  state                 disk
//     runs/lr-3e-3  0.003  0.5310  0.5412 at step 2000     finished at step 2000  28 MB
//     runs/lr-1e-3  0.001  0.6124  0.6180 at step 1750     finished at step 2000  28 MB

/// Sorted by lowest validation loss, runs without one last. Options are "?" for a run that has them
/// neither in its metrics nor in a checkpoint. Throws as read_metrics does.
std::string sweep_text(const std::vector<std::string>& directories);

/// The same of summaries, in their order.
std::string runs_text(const std::vector<RunSummary>& runs);

}  // namespace tapestry
