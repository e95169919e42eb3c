// Losses: what a training step makes small.
//
// Read next: loss.cpp; kernels/cross_entropy.h writes the formula out for one row.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// What becomes of the losses of single rows (or elements).
enum class Reduction { mean, sum, none };

struct CrossEntropyOptions {
    /// Rows with this target have loss 0 and gradient 0 and do not count in the mean.
    std::int64_t ignore_index = -100;
    /// Share of the target's probability that is spread evenly over all V classes, itself included.
    double label_smoothing = 0;
    Reduction reduction = Reduction::mean;
};

/// -sum_j q_j log softmax(logits)_j over the last axis, where q is 1 at the target class, or under
/// smoothing s: 1 - s + s / V there and s / V elsewhere. logits [..., V] f32 or f64, targets [...]
/// i64. The result is a scalar, or [...] with Reduction::none. The mean over no rows at all (or
/// over ignored ones alone) is NaN, as in PyTorch. Gradient: (softmax(logits) - q) g, over N under
/// mean. Saves the logits and one number per row. Throws ShapeError, DTypeError, IndexError for a
/// target outside 0 .. V - 1 (with its position), ValueError unless 0 <= label_smoothing <= 1.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options = {});

/// (x - y)^2, its mean or sum. f32, f64; shapes must be equal (ShapeError): broadcasting here is
/// nearly always a mistake. Gradient: 2 (x - y) g, over the number of elements under mean, and its
/// negative for y.
Tensor mse_loss(const Tensor& x, const Tensor& y, Reduction reduction = Reduction::mean);

}  // namespace tapestry
