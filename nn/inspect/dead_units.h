// Dead units: of an activation function (relu, gelu, ...) the units that learned nothing in a step,
// because the function passed no gradient on for any row. A relu whose input is negative for
// every row is the usual case; gelu and silu do so where their slope underflows, tanh and sigmoid
// where they are saturated, far from 0 on either side.
#pragma once

#include <tapestry/autograd/op.h>

namespace tapestry {

/// Of an entry y = f(x) whose last axis counts units; the others are rows: every token of every
/// sequence, say. With one row, half of relu's units look dead and are not.
struct UnitCounts {
    std::int64_t rows = 0;
    std::int64_t units = 0;
    /// A gradient that is not 0 came to the unit's output in some row, and what went on to its
    /// input is exactly 0 in all of them.
    std::int64_t dead = 0;
    /// No gradient but 0 came to its output in any row: what comes after ignores the unit (a row of
    /// zero weights, or the loss does not depend on it). Whether the unit itself is dead is then
    /// not known; it is not among `dead`.
    std::int64_t unreached = 0;
};

/// Is it an activation function? Known by name: relu, gelu, silu, softplus, tanh, sigmoid. With
/// TAPESTRY_FUSE=0 gelu and silu are on the tape as their parts, of which the sigmoid is one.
bool is_activation(const Op& op);

/// From the gradients at output and input, [..., units] both, of one shape and dtype (f32 or f64).
UnitCounts count_units(const Tensor& output_gradient, const Tensor& input_gradient);

}  // namespace tapestry
