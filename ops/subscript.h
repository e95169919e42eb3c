// Parts of a tensor by position, as Python's x[0, 1:3, :, None]. In C++20 [] takes one argument,
// and a list in braces is one:
//
//     x[2]   x[-1]                       // the third, the last along axis 0, which vanishes
//     x[{0, Slice{1, 3}, kAll}]          // x[0, 1:3, :]
//     x[{kEllipsis, Slice{.step = -1}}]  // x[..., ::-1]
//     x[mask]   x[ids]   x[{ids0, ids1}] // elements that a mask or numbers choose
//
// index(x, {...}) is the same as a function. What positions and slices alone choose is a view,
// whose gradient is g at these places of a tensor of zeros; every x[i] of a loop over an axis would
// make zeros of its own, where unbind (join.h) has one gradient for all. What tensors choose is a
// copy; its gradient adds.
//
// x[i] = y does not compile: it would change a temporary. x[i].copy_(y) and x[i] += y
// (arithmetic.h) change the numbers of a constant in place; index_put (indexing.h) and
// where make another tensor, through which gradients flow.
#pragma once

#include <tapestry/autograd/tape.h>

#include <optional>
#include <variant>
#include <vector>

namespace tapestry {

/// Elements start, start + step, ... up to but without stop, as Python's start:stop:step. A bound
/// counts from the end when negative, is clipped, and if left out lies beyond the end that the walk
/// begins at or goes to. The step may be negative (ValueError for 0).
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

/// The whole axis (Python's `:`), a new one of size 1 that x does not have (None), and as many kAll
/// as the other indices leave axes (`...`).
inline constexpr auto kAll = Slice();
inline constexpr auto kNewAxis = NewAxis();    ///< a new axis of size 1
inline constexpr auto kEllipsis = Ellipsis();  ///< the axes that the other indices leave

/// What stands for one axis of x (and a mask for as many axes as it has).
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

/// The part of x that `where` says, one index after the other for the axes from the first on; axes
/// that are not named stay whole. An i64 tensor of any shape chooses by numbers, which may count
/// from the end; several are broadcast together and choose one element each time, y[i...] =
/// x[ids0[i...], ids1[i...]], and their shape stands in the place of their axes, which must be
/// neighbours (ShapeError); a mask stands for the numbers at which it is true, in row-major order.
/// Any dtype. Throws IndexError for a number outside its axis, for more indices than axes, and for
/// a second kEllipsis, ShapeError for a mask whose sizes are not those of its axes, DTypeError for
/// a tensor of another dtype.
Tensor index(const Tensor& x, const std::vector<Index>& where);

/// x[..., i, ...]: element i along `axis`, which vanishes; a view. i may count from the end
/// (IndexError). Gradient: g there, zeros elsewhere.
Tensor select(const Tensor& x, int axis, std::int64_t i);

/// `length` elements along `axis`, from `start` on, which may count from the end; a view, as slice,
/// but throws IndexError for what is outside the axis.
Tensor narrow(const Tensor& x, int axis, std::int64_t start, std::int64_t length);

}  // namespace tapestry
