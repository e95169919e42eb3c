// Arithmetic on gradients as plain vectors, and on the axes of their shapes.
// Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/long_vectors.h>
#include <tapestry/core/shape.h>

#include <vector>

namespace tapestry::checker {

using Values = std::vector<double>;

/// -0 and 0 differ; a NaN equals itself.
bool same_bits(const Values& a, const Values& b);
/// Whether no number is NaN or infinite.
bool is_finite(const Values& x);
double norm(const Values& a);
/// |a - b| / max(|a|, |b|); 0 if both are 0.
double distance(const Values& a, const Values& b);
/// The largest |x| that is finite; 0 if none is.
double largest(const Values& x);

Values at_places(const Values& whole, const std::vector<std::size_t>& places);

/// x [shape] with its axes in another order, row-major in the new one.
Values permuted(const Values& x, const Shape& shape, const std::vector<int>& order);

/// Whether `operand` broadcasts to `output`, and the axes of the output along which it is repeated.
bool broadcasts(const Shape& operand, const Shape& output);
std::vector<int> broadcast_axes(const Shape& operand, const Shape& output);

}  // namespace tapestry::checker
