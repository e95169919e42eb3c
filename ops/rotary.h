// Rotary position embedding: rotates vectors by angles proportional to their position, so the dot
// product of two depends on their distance.
// Read next: nn/layers/rotary.h, which computes and caches the tables.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// Which elements of a vector form a pair. Models are trained with one or the other; the weights of
/// one only fit the other after their rows are permuted.
enum class RotaryPairs {
    interleaved,  ///< (x_0, x_1), (x_2, x_3), ...: the paper's, and GPT-J's
    halves        ///< (x_0, x_R/2), (x_1, x_R/2+1), ...: GPT-NeoX's and LLaMA's
};

/// x [..., T, D] with the first R = 2 P elements of each row rotated in pairs, for tables cos and
/// sin [T, P] with an angle per row and pair:
///
///     (a, b) -> (a cos - b sin, a sin + b cos)
///
/// The other D - R elements are unchanged. The result has x's memory layout
/// (see heads in ops/attention.h). The tables are constants: throws AutogradError if a tape follows
/// them. All are floating-point and share a dtype (DTypeError), except that bf16 and f16 x take f32
/// tables as well. Throws ShapeError if x has fewer than two axes or the tables are not [T, P] with
/// 2 P <= D. Gradient: g rotated back by the same angles. Source: Su et al. 2021, "RoFormer",
/// equation 34.
Tensor rotary(const Tensor& x, const Tensor& cos, const Tensor& sin,
              RotaryPairs pairs = RotaryPairs::interleaved);

}  // namespace tapestry
