// Which values occur, and how often.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// The n different values of a tensor.
struct Unique {
    Tensor values;   ///< [n], ascending
    Tensor inverse;  ///< i64, of x's shape: x = values[inverse]
    Tensor counts;   ///< i64 [n]: how many elements of x each is
};

/// Any dtype. NaN is a value like others, the last one, and equal to itself, as in NumPy (PyTorch
/// lists each NaN); 0 and -0 are equal. Constants: no gradient flows. Throws ShapeError for 2^32
/// elements and more.
Unique unique(const Tensor& x);

/// y[v] = how many of x (i64) are v, as i64 [n]: n is the largest of x plus 1, and at least
/// `minlength`. Unlike PyTorch's, x may have any shape; for weights see scatter_add. Throws
/// DTypeError, and ValueError for a negative minlength or an element outside [0, 2^48).
Tensor bincount(const Tensor& x, std::int64_t minlength = 0);

}  // namespace tapestry
