// Tensors with values. Names and meaning are NumPy's and PyTorch's. from_blob() makes tensors of
// memory that is not theirs: numbers that lie somewhere already are used where they are.
#pragma once

#include <tapestry/core/tensor.h>

#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapestry {

namespace detail {
template <class T>
concept Number = std::is_arithmetic_v<T>;

template <class... T>
inline constexpr bool kAreWhole = (std::is_integral_v<T> && ...);

Tensor whole_range(std::int64_t start, std::int64_t stop, std::int64_t step, DType dtype);
Tensor real_range(double start, double stop, double step, DType dtype);
}  // namespace detail

Tensor empty(const Shape& shape, DType dtype = DType::f32);
Tensor full(const Shape& shape, double value, DType dtype = DType::f32);
Tensor zeros(const Shape& shape, DType dtype = DType::f32);
Tensor ones(const Shape& shape, DType dtype = DType::f32);

/// Of the shape and dtype of x.
Tensor empty_like(const Tensor& x);
Tensor full_like(const Tensor& x, double value);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);

/// 0, 1, ..., n - 1
Tensor arange(std::int64_t n, DType dtype = DType::i64);

/// start, start + step, ... as long as it lies before stop (after it for a step below zero): i64 if
/// all three are whole by their C++ types, else f32, unless `dtype` says. Number i is start + i
/// step (of fractions in f64, rounded once); there are ceil((stop - start) / step), so that with a
/// step like 0.1 rounding decides about the last one, and linspace is the safer choice. Throws
/// ValueError for a step of 0 or of the wrong direction, for numbers that are not finite, and for
/// fractions where i64 was asked for; DTypeError for bool.
template <detail::Number Start, detail::Number Stop, detail::Number Step = int>
Tensor arange(Start start, Stop stop, Step step = 1,
              DType dtype = detail::kAreWhole<Start, Stop, Step> ? DType::i64 : DType::f32) {
    if constexpr (detail::kAreWhole<Start, Stop, Step>) {
        return detail::whole_range(static_cast<std::int64_t>(start),
                                   static_cast<std::int64_t>(stop), static_cast<std::int64_t>(step),
                                   dtype);
    } else {
        return detail::real_range(static_cast<double>(start), static_cast<double>(stop),
                                  static_cast<double>(step), dtype);
    }
}

/// n numbers from start to stop, both among them, at equal distances; one number is start. f32 or
/// f64 (DTypeError). Throws ValueError if n < 0 or an end is not finite.
Tensor linspace(double start, double stop, std::int64_t n, DType dtype = DType::f32);

/// n x n with ones on the diagonal.
Tensor eye(std::int64_t n, DType dtype = DType::f32);

/// Rank 0.
Tensor scalar(double value, DType dtype = DType::f32);

/// `values` in row-major order. Throws ShapeError when their number is not that of the shape.
template <class T>
Tensor tensor(const std::vector<T>& values, const Shape& shape) {
    Tensor result(shape, dtype_of<T>());
    require<ShapeError>(static_cast<std::int64_t>(values.size()) == result.numel(),
                        "tensor: {} values for shape {}", values.size(), shape);
    T* to = result.mutable_data<T>();
    for (const T value : values) *to++ = value;
    return result;
}

/// A vector.
template <class T>
Tensor tensor(std::initializer_list<T> values) {
    return tensor(std::vector<T>(values), {static_cast<std::int64_t>(values.size())});
}

/// A matrix: tensor<float>({{1, 2}, {3, 4}}).
template <class T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows) {
    std::vector<T> values;
    const std::size_t columns = rows.size() == 0 ? 0 : rows.begin()->size();
    for (const auto& row : rows) {
        require<ShapeError>(row.size() == columns, "tensor: rows of {} and {} values", columns,
                            row.size());
        values.insert(values.end(), row.begin(), row.end());
    }
    return tensor(values,
                  {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns)});
}

// Of from_blob the memory stays the caller's. It must stay where it is for as long as anything
// shares it: the tensor, its copies and views, and what a tape saved of them; clone() is the way to
// numbers that last longer. Make one tensor of a piece of memory, and views of that: of two that
// overlap neither knows of the other, and a copy between them may read what it has written. What
// either side writes the other sees. A tape that saved the tensor notices what is written through
// tensors, and cannot notice what the caller writes.

namespace detail {
Tensor from_blob(void* data, const Shape& shape, const Strides& strides, DType dtype,
                 std::function<void()> released);
}  // namespace detail

/// The numbers at `data` (float, double, std::int64_t, bool, Bf16 or F16) as a tensor, row-major.
/// `released`, which must not throw, is called once, when the last tensor that shares the memory
/// goes, on whichever thread lets go of it. Throws ValueError, and then never calls `released`, for
/// a null pointer (unless there are no elements) and for one that is not aligned as a T.
template <class T>
Tensor from_blob(T* data, const Shape& shape, std::function<void()> released = {}) {
    return detail::from_blob(data, shape, contiguous_strides(shape), dtype_of<T>(),
                             std::move(released));
}

/// The same with element [i, j, ...] at data + i strides[0] + j strides[1] + ... Throws ShapeError
/// unless there is a stride for every axis, none below zero and none beyond all memory.
template <class T>
Tensor from_blob(T* data, const Shape& shape, const Strides& strides,
                 std::function<void()> released = {}) {
    return detail::from_blob(data, shape, strides, dtype_of<T>(), std::move(released));
}

}  // namespace tapestry
