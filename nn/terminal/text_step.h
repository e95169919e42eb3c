// What an Inspector has seen of a step, as text: its tape and its heads of attention. The page of
// nn/pages/page.h for a terminal; `tapestry inspect --print` prints it.
#pragma once

#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/pages/page.h>

#include <optional>
#include <string>

namespace tapestry {

// ---- the tape -----------------------------------------------------------------------------------

// The entries that an Inspector saw, as a table of text: what ran in which module on which shapes,
// what it kept for its rule, how long it and its rule took.
//
//     2 entries, 24 B kept for backward; 0.004 ms forward, 0.011 ms backward
//     #  op              module  inputs -> outputs          kept  forward  backward
//     0  mul                     leaf [3], leaf [3] -> [3]  24 B    0.003     0.008
//     1  sum (axes=[0])          #0 [3] -> []                0 B    0.001     0.003
//
// Times are in ms, as the Inspector takes them (nn/inspect/inspector.h says what they are worth);
// "-" stands for a rule that did not run. "#0" is what entry 0 gave, "leaf" what asked for its
// gradient, as in autograd/print.h, which prints a tape that nobody watched.

/// The table of a step, in the order of its entries.
std::string text_tape(const Inspector& inspector);

// ---- the step -----------------------------------------------------------------------------------

/// The width of the text, and which heads to show.
struct StepTextOptions {
    int width = 80;                          ///< columns of the terminal
    std::optional<std::int64_t> layer = {},  ///< with `head`; neither: all heads, small
        head = {};                           ///< with `layer`
};

/// Layers are numbered as their attentions ran. Throws ValueError for a layer or a head that there
/// is not.
std::string text_step(const Inspector& inspector, const PageOptions& page,
                      const StepTextOptions& options = {});

}  // namespace tapestry
