// Forward-mode derivatives from a tape: not what an output's gradient means for the inputs (J^T v),
// but what a step of the inputs means for the outputs (J u).
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// For each y of `ys`, the sum over i of (dy/dxs[i]) directions[i]: the change of y when the xs
/// move along the directions; zeros for a y that depends on none of them. Needs no forward-mode
/// rules: J^T v is linear in v, so its derivative with respect to v, walked back from the
/// direction, is J u. Costs one walk per y and another for each x that it depends on, and needs
/// rules that can be recorded (those of Tapestry's ops can). The tape keeps what it saved. Throws
/// ShapeError if a direction has another shape than its x, AutogradError as Tape::gradient does.
/// Source: Townsend 2017, "A new trick for calculating Jacobian vector products".
Tensors jvp(Tape& tape, const Tensors& ys, const Tensors& xs, const Tensors& directions);

}  // namespace tapestry
