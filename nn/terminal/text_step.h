// An Inspector's record of a step as text: its tape and its attention heads. The terminal version
// of nn/pages/page.h; `tapestry inspect --print` prints it.
#pragma once

#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/pages/page.h>

#include <optional>
#include <string>

namespace tapestry {

// ---- the tape -----------------------------------------------------------------------------------

// The entries that an Inspector recorded, as a table: which op ran in which module on which shapes,
// the bytes it kept for backward, and its forward and backward time.
//
//     2 entries, 24 B kept for backward; 0.004 ms forward, 0.011 ms backward
//     #  op              module  inputs -> outputs          kept  forward  backward
//     0  mul                     leaf [3], leaf [3] -> [3]  24 B    0.003     0.008
//     1  sum (axes=[0])          #0 [3] -> []                0 B    0.001     0.003
//
// Times are in ms as the Inspector measures them (nn/inspect/inspector.h discusses their accuracy);
// "-" means that backward did not run. "#0" is the output of entry 0 and "leaf" a tensor that
// requires a gradient, as in autograd/print.h, which prints a tape without an Inspector.

/// The table of a step, in the order of its entries.
std::string text_tape(const Inspector& inspector);

// ---- the step -----------------------------------------------------------------------------------

/// The width of the text, and which heads to show.
struct StepTextOptions {
    int width = 80;                          ///< columns of the terminal
    std::optional<std::int64_t> layer = {},  ///< with `head`; neither: all heads, small
        head = {};                           ///< with `layer`
};

/// Layers are numbered in the order in which their attention ran. Throws ValueError for a layer or
/// head that does not exist.
std::string text_step(const Inspector& inspector, const PageOptions& page,
                      const StepTextOptions& options = {});

}  // namespace tapestry
