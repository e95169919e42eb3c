// Tensors put together and taken apart along an axis.
//
// All take any dtype; tensors joined must share theirs (DTypeError).
#pragma once

#include <tapestry/autograd/tape.h>

#include <initializer_list>
#include <span>
#include <vector>

namespace tapestry {

/// The tensors one after the other along `axis`; their other sizes must agree (ShapeError). A new
/// tensor. Gradient: to each tensor its part of g. Throws ValueError for an empty list.
Tensor concat(const Tensors& tensors, int axis = 0);

/// concat under PyTorch's name.
Tensor cat(const Tensors& tensors, int axis = 0);

/// x cut along `axis` into pieces of these sizes, which must add up to the size of the axis
/// (ShapeError). Views of x. Gradient: the pieces' gradients one after the other, zeros for pieces
/// nothing flowed back to; all in one pass over memory.
Tensors split(const Tensor& x, std::span<const std::int64_t> sizes, int axis = 0);

/// The same, of sizes in braces.
Tensors split(const Tensor& x, std::initializer_list<std::int64_t> sizes, int axis = 0);

/// x cut along `axis` into pieces of `chunk`, the last one smaller where it does not divide the
/// size. Throws ValueError unless chunk >= 1.
Tensors split(const Tensor& x, std::int64_t chunk, int axis = 0);

/// x cut along `axis` into `count` pieces as equal as can be when all but the last are: of
/// ceil(size / count), so that there may be fewer of them, as in PyTorch. Throws ValueError unless
/// count >= 1.
Tensors chunk(const Tensor& x, std::int64_t count, int axis = 0);

/// x[..., i, ...] for every i along `axis`, which vanishes. Views of x; the gradient is split's, in
/// one pass for all of them.
Tensors unbind(const Tensor& x, int axis = 0);

/// Tensors of one shape (ShapeError) laid side by side along a new axis, which becomes axis `axis`
/// of the result.
Tensor stack(const Tensors& tensors, int axis = 0);

/// What is added before and after an axis.
struct Padding {
    std::int64_t before = 0;  ///< elements before the first
    std::int64_t after = 0;   ///< elements after the last
};

/// x framed by `value`: padding[i].before and .after elements along axis i. Gradient: the part of g
/// where x lies. Throws ShapeError unless there is one entry per axis, ValueError for a negative
/// one, and for a value that no element can be: a fraction in i64, other than 0 and 1 in bool.
Tensor pad(const Tensor& x, const std::vector<Padding>& padding, double value = 0);

}  // namespace tapestry
