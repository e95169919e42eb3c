// Dtype conversion.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// x converted to `dtype`; x itself if it has that dtype. Between floating-point dtypes the
/// gradient is converted back; through any other conversion none flows. Floating-point to i64
/// rounds toward zero; conversion to bool is true where x is not zero.
Tensor to(const Tensor& x, DType dtype);

}  // namespace tapestry
