// Shapes and strides: short lists of integers that live inside the tensor, without allocation.
#pragma once

#include <tapestry/core/error.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string_view>

namespace tapestry {

/// Sizes (or strides) per axis, at most kMaxRank of them. [] is a scalar's shape.
class Shape {
public:
    static constexpr int kMaxRank = 8;  ///< the largest number of axes

    Shape() = default;
    /// {2, 3} is the shape [2, 3]. Throws ShapeError for more than kMaxRank sizes.
    Shape(std::initializer_list<std::int64_t> sizes)
        : Shape(std::span<const std::int64_t>(sizes.begin(), sizes.size())) {}
    /// The same for sizes in memory.
    explicit Shape(std::span<const std::int64_t> sizes);
    /// `rank` axes of `size` each.
    static Shape filled(int rank, std::int64_t size);

    int rank() const { return rank_; }         ///< number of axes
    bool empty() const { return rank_ == 0; }  ///< whether this is a scalar's shape

    /// Axis `i`, unchecked: see normalize_axis for axes that users pass.
    std::int64_t& operator[](int i) { return sizes_[static_cast<std::size_t>(i)]; }
    std::int64_t operator[](int i) const { return sizes_[static_cast<std::size_t>(i)]; }
    /// The last axis, unchecked: the rank must be at least 1.
    std::int64_t back() const { return (*this)[rank_ - 1]; }
    std::int64_t& back() { return (*this)[rank_ - 1]; }

    const std::int64_t* begin() const { return sizes_.data(); }        ///< the first axis
    const std::int64_t* end() const { return sizes_.data() + rank_; }  ///< beyond the last axis

    /// Appends an axis. Throws ShapeError for more than kMaxRank axes.
    void push_back(std::int64_t size);
    /// Inserts an axis before `axis`, unchecked; at the end if it is rank(). Throws ShapeError for
    /// more than kMaxRank axes.
    void insert(int axis, std::int64_t size);
    /// Removes `axis`, unchecked.
    void erase(int axis);

    /// Axes [first, last).
    Shape sub(int first, int last) const {
        return Shape(std::span<const std::int64_t>(begin() + first, begin() + last));
    }

    friend bool operator==(const Shape& a, const Shape& b);  ///< whether ranks and sizes are equal

    /// The axes of a, then those of b. Throws ShapeError for more than kMaxRank axes.
    friend Shape operator+(Shape a, const Shape& b);

private:
    std::array<std::int64_t, kMaxRank> sizes_{};
    int rank_ = 0;
};

/// Elements from one entry of an axis to the next, per axis; may be 0 or negative.
using Strides = Shape;

/// The number of elements; 1 for a scalar. Throws ShapeError for a negative size, or if the product
/// of the sizes other than 0 does not fit 64 bits: the strides of an empty tensor are such products
/// (NumPy refuses these shapes too).
std::int64_t numel(const Shape& shape);

/// Row-major strides, in elements. An axis of size 0 counts as 1.
Strides contiguous_strides(const Shape& shape);

/// The position in `shape`, such as [1, 3], of row-major element `index`.
Shape unravel_index(std::int64_t index, const Shape& shape);

/// The shape to which both broadcast, by NumPy's rule: aligned at the last axis, sizes equal or one
/// of them 1. `op` names the caller in the error.
Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b);

/// `axis` as 0 <= result < rank; negative axes count from the end (-1 is the last).
int normalize_axis(std::string_view op, int axis, int rank);

/// Writes "[4, 3]".
std::ostream& operator<<(std::ostream& out, const Shape& shape);

}  // namespace tapestry

/// "[4, 3]"
template <>
struct fmt::formatter<tapestry::Shape> : tapestry::PlainFormatter {
    fmt::appender format(const tapestry::Shape& shape, fmt::format_context& context) const;
};
