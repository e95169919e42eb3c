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
#pragma once

#include <tapestry/nn/inspect/inspector.h>

#include <string>

namespace tapestry {

std::string text_tape(const Inspector& inspector);

}  // namespace tapestry
