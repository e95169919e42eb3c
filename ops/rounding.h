// Whole numbers near x, and its sign: floating numbers or i64 in (DTypeError otherwise), the same
// shape and type out. Infinities stay, and so do NaN and what is whole already.
//
// These are steps: flat, with jumps between. They are recorded, with the gradient 0 that they have
// wherever they have one, so that a parameter behind them gets zeros instead of nothing.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// -1, 0 or 1; NaN of NaN. Gradient: 0.
Tensor sign(const Tensor& x);
/// The largest whole number that is not above x. Gradient: 0.
Tensor floor(const Tensor& x);
/// The smallest whole number that is not below x. Gradient: 0.
Tensor ceil(const Tensor& x);
/// The nearest whole number; of two as near, the even one: 0.5 gives 0, 1.5 and 2.5 give 2.
/// Gradient: 0.
Tensor round(const Tensor& x);
/// x without what follows the point: the nearest whole number towards 0. Gradient: 0.
Tensor trunc(const Tensor& x);

}  // namespace tapestry
