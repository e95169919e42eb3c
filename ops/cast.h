// Changing the element type.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// x with elements of `dtype`; x itself if it has them already. Between floating types the gradient
/// is converted back; through any other conversion none flows. Floating to integer rounds toward
/// zero, and to bool is true where not zero.
Tensor to(const Tensor& x, DType dtype);

}  // namespace tapestry
