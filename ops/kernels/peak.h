// The fastest that a core multiplies and adds, and that memory is read and written: loops that do
// nothing else. What real kernels reach is told as a share of these (docs/profiling.md).
#pragma once

#include <cstdint>

namespace tapestry::kernels {

template <class T>
struct Peak {
    /// Multiply-adds in one round of `multiply_add`: independent chains times lanes of a vector.
    std::int64_t multiply_adds;

    /// `rounds` times x <- factor x + addend, for chains x that depend on nothing but themselves.
    /// Chain i starts at i, in every lane. The sum of all in the end.
    T (*multiply_add)(std::int64_t rounds, T factor, T addend);

    /// x <- factor x + addend in place: each byte read and written once.
    void (*update)(T* x, std::int64_t n, T factor, T addend);

    /// The sum of x, in an order of its own: each byte read once.
    T (*read)(const T* x, std::int64_t n);
};

}  // namespace tapestry::kernels
