// Gradients that get lost without an operation going wrong. Internal to autograd.
//
// A constant that depends on a leaf after all keeps a word of how it lost the tape, for the error
// of whoever asks for a gradient there; and a parameter that got a gradient, but that no optimiser
// holds, is told to those beside it that one does hold, for the next step to ask.
#pragma once

#include <tapestry/core/tensor.h>

#include <string>

namespace tapestry {

/// Why no gradient flows through x on a tape that has no slot for it, to follow "the tensor [2] ".
std::string why_constant(const Tensor& x);

}  // namespace tapestry
