// The other way through a tape: not what an output's gradient means for the inputs (J^T v), but
// what a step of the inputs means for the outputs (J u).
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// For each y of `ys`, the sum over i of (dy/dxs[i]) directions[i]: by how much y changes when the
/// xs move along the directions; zeros where nothing depends on them. There are no rules for this
/// direction: J^T v is linear in v, so that its derivative by v, walked back from the direction, is
/// J u. Costs two walks per y, and needs rules that record themselves (those of Tapestry's ops do).
/// The tape keeps what it saved. Throws ShapeError where a direction has another shape than its x,
/// AutogradError as Tape::gradient does.
/// Source: Townsend 2017, "A new trick for calculating Jacobian vector products".
Tensors jvp(Tape& tape, const Tensors& ys, const Tensors& xs, const Tensors& directions);

}  // namespace tapestry
