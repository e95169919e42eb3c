// Dropout: zeroes random elements during training.
#pragma once

#include <tapestry/autograd/tape.h>
#include <tapestry/core/random.h>

namespace tapestry {

/// y_i = m_i x_i / (1 - p), where m_i is 0 with probability p and 1 otherwise: the expectation of y
/// is x. Returns x itself when not training or if p = 0. Gradient: g m / (1 - p), with the same m.
/// Floating-point (DTypeError); throws ValueError unless 0 <= p <= 1.
/// Source: Srivastava et al. 2014, "Dropout: A Simple Way to Prevent Neural Networks from
/// Overfitting"; scaled during training, so inference needs no correction.
Tensor dropout(const Tensor& x, double p, bool training = true,
               Generator& generator = default_generator());

}  // namespace tapestry
