// Rotary positions: vectors turned by angles that grow with their place, so that the product of two
// of them depends on how far apart they stand.
// Read next: nn/layers/rotary.h, which makes the table and keeps it.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// Which two numbers of a vector turn together. Models are trained with one or the other, and the
/// weights of one are no use to the other unless their rows change places.
enum class RotaryPairs {
    interleaved,  ///< (x_0, x_1), (x_2, x_3), ...: the paper's, and GPT-J's
    halves        ///< (x_0, x_R/2), (x_1, x_R/2+1), ...: GPT-NeoX's and LLaMA's
};

/// x [..., T, D] with the first R = 2 P numbers of each row turned in pairs, for tables cos and sin
/// [T, P] of an angle per row and pair:
///
///     (a, b) -> (a cos - b sin, a sin + b cos)
///
/// The D - R others are as they were. The result lies in memory as x does, heads inside or not
/// (ops/attention.h). The tables are constants: AutogradError if a tape follows them. floating
/// numbers, all of one type (DTypeError); ShapeError for x without two axes, or tables that are no
/// [T, P] with 2 P <= D. Gradient: g turned back by the same angles. Source: Su et al. 2021,
/// "RoFormer", equation 34.
Tensor rotary(const Tensor& x, const Tensor& cos, const Tensor& sin,
              RotaryPairs pairs = RotaryPairs::interleaved);

}  // namespace tapestry
