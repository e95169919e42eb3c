// Tensors of memory that is not theirs: numbers that lie somewhere already are used where they are.
//
// The memory stays the caller's. It must stay where it is for as long as anything shares it: the
// tensor, its copies and views, and what a tape saved of them; clone() is the way to numbers that
// last longer. Make one tensor of a piece of memory, and views of that: of two that overlap neither
// knows of the other, and a copy between them may read what it has written. What either side writes
// the other sees. A tape that saved the tensor notices what is written through tensors, and cannot
// notice what the caller writes.
#pragma once

#include <tapestry/core/tensor.h>

#include <functional>

namespace tapestry {

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
