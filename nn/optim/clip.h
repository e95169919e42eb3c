// Keeping gradients from being too long.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// The Euclidean norm of all gradients of `parameters` taken together as one vector, summed in f64;
/// parameters without a gradient count as zero. Squares may leave the range of f64; the norm is
/// right if it is in the range itself.
double grad_norm(const Tensors& parameters);

/// Multiplies all gradients by max_norm / norm if norm, their grad_norm, is larger, and returns
/// norm. If the norm is infinite, finite gradients become 0 and infinite ones NaN; if it is NaN,
/// nothing changes; with `error_if_nonfinite` both throw ValueError and change nothing. Throws
/// ValueError unless max_norm > 0. (Optimizer::step takes the factor itself, which
/// saves a pass over memory; nn/train does so.) Source: Pascanu et al. 2013, "On the difficulty of
/// training recurrent neural networks".
double clip_grad_norm(const Tensors& parameters, double max_norm, bool error_if_nonfinite = false);

/// Limits every number of all gradients to [-max_value, max_value]; NaN stays. Throws ValueError
/// unless max_value > 0.
void clip_grad_value(const Tensors& parameters, double max_value);

}  // namespace tapestry
