// The output projection and cross-entropy of a language model in one op, without its logits: with
// 49,152 classes those of 1,024 tokens are 201 MB, and their gradient as much again.
//
// Read next: linear_cross_entropy.cpp; loss.h, cross_entropy.
#pragma once

#include <tapestry/ops/loss.h>

namespace tapestry {

/// Options of linear_cross_entropy().
struct LinearCrossEntropyOptions {
    /// Rows with this target have loss 0 and gradient 0 and do not count in the mean.
    std::int64_t ignore_index = -100;
    /// As in CrossEntropyOptions.
    double label_smoothing = 0;
    /// If positive, logits z are replaced by softcap tanh(z / softcap).
    double softcap = 0;
    Reduction reduction = Reduction::mean;  ///< mean or sum, over the rows that are not ignored
};

/// cross_entropy(softcap(linear(x, weight)), targets), up to rounding, for x [..., C], weight
/// [V, C] and targets [...] i64. Logits exist for a slice of rows at a time. The forward pass also
/// computes the gradients that a tape will want, at a cotangent of 1, while a slice's logits are
/// there: backward only scales them, so there are no more products than in the plain form. Of f16
/// all of this is computed and kept in f32, because the slopes of rare classes, divided by the
/// number of rows, are below its range; only the scaled gradients are rounded.
///
/// x is floating-point; the weight has its dtype, or is f32 beside a narrow x: it is rounded to x's
/// dtype, and its gradient is summed in f32. The result is f32 for a narrow x. Throws ShapeError,
/// DTypeError, IndexError and ValueError as linear() and cross_entropy() do; ValueError for
/// Reduction::none, whose rows could not share one gradient, and a softcap below 0. Source: Hsu et
/// al. 2024, "Liger Kernel".
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                            const LinearCrossEntropyOptions& options = {});

}  // namespace tapestry
