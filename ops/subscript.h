// Indexing as in Python's x[0, 1:3, :, None]. In C++20 [] takes one argument, which may be a list
// in braces:
//
//     x[2]   x[-1]                       // the third, the last along axis 0, which vanishes
//     x[{0, Slice{1, 3}, kAll}]          // x[0, 1:3, :]
//     x[{kEllipsis, Slice{.step = -1}}]  // x[..., ::-1]
//     x[mask]   x[ids]   x[{ids0, ids1}] // elements that a mask or numbers choose
//
// index(x, {...}) is the same as a function. Indexing by positions and slices only gives a view,
// whose gradient is g placed into a tensor of zeros. In a loop over an axis every x[i] would
// allocate such zeros; unbind (join.h) has one gradient for all. Indexing by tensors gives a copy;
// its gradient is summed over repeated elements.
//
// x[i] = y does not compile, because it would assign to a temporary. x[i].copy_(y) and x[i] += y
// (arithmetic.h) update a constant in place; index_put (indexing.h) and where return a new tensor
// through which gradients flow.
#pragma once

#include <tapestry/autograd/tape.h>

#include <optional>
#include <variant>
#include <vector>

namespace tapestry {

/// Elements start, start + step, ... up to but excluding stop, as Python's start:stop:step.
/// Negative bounds count from the end; bounds are clipped, and omitted ones reach to the end of the
/// axis. The step may be negative (ValueError for 0).
struct Slice {
    /// First element; left out: the end that the walk begins at.
    std::optional<std::int64_t> start = {};
    /// The element before which it ends; left out: beyond the other end.
    std::optional<std::int64_t> stop = {};
    std::int64_t step = 1;  ///< distance between elements; negative: backwards
};

/// The types of kNewAxis and kEllipsis.
struct NewAxis {};
struct Ellipsis {};

/// The whole axis (Python's `:`), a new axis of size 1 (None), and kAll for every axis that the
/// other indices leave (`...`).
inline constexpr auto kAll = Slice();
inline constexpr auto kNewAxis = NewAxis();    ///< a new axis of size 1
inline constexpr auto kEllipsis = Ellipsis();  ///< the axes that the other indices leave

/// The index for one axis of x (a mask: for as many axes as it has).
class Index {
public:
    /// The kinds of index.
    using Choice = std::variant<std::int64_t, Slice, NewAxis, Ellipsis, Tensor>;

    Index(std::int64_t i) : choice_(i) {}             ///< one position; the axis vanishes
    Index(const Slice& slice) : choice_(slice) {}     ///< a range of positions
    Index(NewAxis axis) : choice_(axis) {}            ///< a new axis of size 1
    Index(Ellipsis rest) : choice_(rest) {}           ///< all axes that are left
    Index(const Tensor& chosen) : choice_(chosen) {}  ///< a bool mask, or i64 positions

    const Choice& choice() const { return choice_; }  ///< which kind it is, and its value

private:
    Choice choice_;
};

/// The part of x selected by `where`, whose indices apply to the axes in order; remaining axes are
/// kept whole. An i64 tensor of any shape selects by indices, which may count from the end. Several
/// such tensors are broadcast together, y[i...] = x[ids0[i...], ids1[i...]]; their shape replaces
/// their axes, which must be adjacent (ShapeError). A mask is equivalent to the indices at which it
/// is true, in row-major order. Any dtype. Throws IndexError for an index outside its axis, for
/// more indices than axes, and for a second kEllipsis; ShapeError for a mask whose sizes differ
/// from those of its axes; DTypeError for an index tensor of another dtype.
Tensor index(const Tensor& x, const std::vector<Index>& where);

/// x[..., i, ...]: entry i along `axis`, which is removed; a view. i may count from the end
/// (IndexError). Gradient: g there, zeros elsewhere.
Tensor select(const Tensor& x, int axis, std::int64_t i);

/// `length` entries along `axis` from `start`, which may count from the end; a view like slice, but
/// throws IndexError for a range outside the axis.
Tensor narrow(const Tensor& x, int axis, std::int64_t start, std::int64_t length);

}  // namespace tapestry
