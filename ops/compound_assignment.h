// a += b and its kin.
//
// Where a tape follows a or b, a += b is a = a + b: the name stands for the sum from then on,
// gradients flow to what a was and to b, and other tensors that share the old memory keep their
// numbers. For a part of a larger tensor's memory that would be misunderstood, and is refused.
// Otherwise the numbers are changed in place, for all who share the memory, as PyTorch does. So a
// parameter is stepped under a NoGradGuard: w -= lr * g. While a tape records, a leaf that requires
// its gradient is refused: it would be a leaf no more.
//
// The result has the shape and dtype of a: b broadcasts to it (ShapeError, DTypeError).
// AutogradError for what is refused.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

Tensor& operator+=(Tensor& a, const Tensor& b);
Tensor& operator-=(Tensor& a, const Tensor& b);
Tensor& operator*=(Tensor& a, const Tensor& b);
Tensor& operator/=(Tensor& a, const Tensor& b);
Tensor& operator+=(Tensor& a, double b);
Tensor& operator-=(Tensor& a, double b);
Tensor& operator*=(Tensor& a, double b);
Tensor& operator/=(Tensor& a, double b);

/// For a part that has no name, as in counts[{i, j}] += 1: always in place. Refuses what a tape
/// follows, and what has memory of its own (x[mask]), where the change would be lost.
void operator+=(Tensor&& part, const Tensor& b);
void operator-=(Tensor&& part, const Tensor& b);
void operator*=(Tensor&& part, const Tensor& b);
void operator/=(Tensor&& part, const Tensor& b);
void operator+=(Tensor&& part, double b);
void operator-=(Tensor&& part, double b);
void operator*=(Tensor&& part, double b);
void operator/=(Tensor&& part, double b);

}  // namespace tapestry
