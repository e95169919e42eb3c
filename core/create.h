// Tensors with values. Names and meaning are NumPy's and PyTorch's. from_blob() makes tensors of
// existing memory that they do not own, without copying.
#pragma once

#include <tapestry/core/tensor.h>

#include <concepts>
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

// A size written as an argument; bool is more likely a mistake.
template <class T>
concept Size = std::integral<T> && !std::same_as<T, bool>;
}  // namespace detail

/// Tensors of a shape and any dtype: uninitialised, all `value`, all 0, all 1. Throws ShapeError
/// for a negative size.
Tensor empty(const Shape& shape, DType dtype = DType::f32);
Tensor full(const Shape& shape, double value, DType dtype = DType::f32);
Tensor zeros(const Shape& shape, DType dtype = DType::f32);
Tensor ones(const Shape& shape, DType dtype = DType::f32);

/// The same with the sizes as arguments, f32: zeros(2, 3) is zeros({2, 3}).
template <detail::Size... Sizes>
requires(sizeof...(Sizes) > 0) Tensor empty(Sizes... sizes) {
    return empty(Shape{static_cast<std::int64_t>(sizes)...});
}
template <detail::Size... Sizes>
requires(sizeof...(Sizes) > 0) Tensor zeros(Sizes... sizes) {
    return zeros(Shape{static_cast<std::int64_t>(sizes)...});
}
template <detail::Size... Sizes>
requires(sizeof...(Sizes) > 0) Tensor ones(Sizes... sizes) {
    return ones(Shape{static_cast<std::int64_t>(sizes)...});
}

/// With the shape and dtype of x.
Tensor empty_like(const Tensor& x);
Tensor full_like(const Tensor& x, double value);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);

/// 0, 1, ..., n - 1
Tensor arange(std::int64_t n, DType dtype = DType::i64);

/// start, start + step, ... up to but excluding stop: i64 if the C++ types of all three are
/// integers, else f32, unless `dtype` is given. Element i is start + i step (for fractions computed
/// in f64 and rounded once); there are ceil((stop - start) / step) of them, so with a step like 0.1
/// rounding decides whether the last is included, and linspace is the safer choice. Throws
/// ValueError if the step is 0 or has the wrong sign, if a number is not finite, and if fractions
/// are requested as i64; DTypeError for bool.
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

/// n evenly spaced numbers from start to stop, both included; n = 1 gives start. f32 or f64
/// (DTypeError). Throws ValueError if n < 0 or an end is not finite.
Tensor linspace(double start, double stop, std::int64_t n, DType dtype = DType::f32);

/// n x n with ones on the diagonal.
Tensor eye(std::int64_t n, DType dtype = DType::f32);

/// A tensor of rank 0.
Tensor scalar(double value, DType dtype = DType::f32);

/// `values` in row-major order. Throws ShapeError if their number does not match the shape.
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

// from_blob leaves the memory with the caller. It must stay valid for as long as anything shares
// it: the tensor, its copies and views, and what a tape saved of them; clone() makes numbers that
// last longer. Make one tensor per piece of memory, and views of that one: two overlapping tensors
// do not know of each other, and a copy between them may read what it has already written. Each
// side sees what the other writes. A tape that saved the tensor notices writes made through
// tensors, but cannot notice the caller's.

namespace detail {
Tensor from_blob(void* data, const Shape& shape, const Strides& strides, DType dtype,
                 std::function<void()> released);
}  // namespace detail

/// The numbers at `data` (float, double, std::int64_t, bool, Bf16 or F16) as a tensor, row-major.
/// `released`, which must not throw, is called once, when the last tensor that shares the memory is
/// destroyed, on the thread that destroys it. Throws ValueError, without ever calling `released`,
/// for a null pointer (unless there are no elements) and for one that is not aligned as a T.
template <class T>
Tensor from_blob(T* data, const Shape& shape, std::function<void()> released = {}) {
    return detail::from_blob(data, shape, contiguous_strides(shape), dtype_of<T>(),
                             std::move(released));
}

/// The same with element [i, j, ...] at data + i strides[0] + j strides[1] + ... Throws ShapeError
/// unless there is one stride per axis, none negative and none too large for the address space.
template <class T>
Tensor from_blob(T* data, const Shape& shape, const Strides& strides,
                 std::function<void()> released = {}) {
    return detail::from_blob(data, shape, strides, dtype_of<T>(), std::move(released));
}

}  // namespace tapestry
