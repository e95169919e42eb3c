// Joining and splitting tensors along an axis.
//
// All take any dtype; tensors joined must share theirs (DTypeError).
#pragma once

#include <tapestry/autograd/tape.h>

#include <initializer_list>
#include <span>
#include <vector>

namespace tapestry {

/// Concatenates tensors along `axis` into a new tensor; their other sizes must agree, and the sum
/// of the sizes along `axis` must fit 64 bits (ShapeError). Gradient: to each tensor its part of g.
/// Throws ValueError for an empty list.
Tensor concat(const Tensors& tensors, int axis = 0);

/// concat under PyTorch's name.
Tensor cat(const Tensors& tensors, int axis = 0);

/// x cut along `axis` into pieces of these sizes, which must add up to the size of the axis
/// (ShapeError). Views of x. Gradient: the gradients of the pieces, concatenated in one pass over
/// memory, with zeros for pieces without one.
Tensors split(const Tensor& x, std::span<const std::int64_t> sizes, int axis = 0);

/// The same with sizes in braces.
Tensors split(const Tensor& x, std::initializer_list<std::int64_t> sizes, int axis = 0);

/// x cut along `axis` into pieces of `chunk`; the last is smaller if `chunk` does not divide the
/// size. Throws ValueError unless chunk >= 1.
Tensors split(const Tensor& x, std::int64_t chunk, int axis = 0);

/// x cut along `axis` into at most `count` pieces of ceil(size / count), the last possibly smaller,
/// as in PyTorch; an empty axis into `count` empty ones. Throws ValueError unless count >= 1, and
/// for more than 2^20 pieces of an empty axis.
Tensors chunk(const Tensor& x, std::int64_t count, int axis = 0);

/// x[..., i, ...] for every i along `axis`, which is removed. Views of x; gradient as for split, in
/// one pass for all of them.
Tensors unbind(const Tensor& x, int axis = 0);

/// Stacks tensors of one shape (ShapeError) along a new axis, which becomes axis `axis` of the
/// result.
Tensor stack(const Tensors& tensors, int axis = 0);

/// Number of elements added before and after an axis.
struct Padding {
    std::int64_t before = 0;  ///< elements before the first
    std::int64_t after = 0;   ///< elements after the last
};

/// x padded with `value`: padding[i].before and .after elements along axis i. Gradient: the part of
/// g where x is. Throws ShapeError unless there is one entry per axis, ValueError for a negative
/// one, and for a value that the dtype cannot hold: a fraction for i64, anything but 0 and 1 for
/// bool.
Tensor pad(const Tensor& x, const std::vector<Padding>& padding, double value = 0);

}  // namespace tapestry
