// Loops that only multiply and add, or only read and write memory: the peaks. The performance of
// real kernels is reported as a fraction of these (docs/profiling.md).
#pragma once

#include <cstdint>

namespace tapestry::kernels {

template <class T>
struct Peak {
    /// Multiply-adds in one round of `multiply_add`: independent chains times vector lanes.
    std::int64_t multiply_adds;

    /// `rounds` times x <- factor x + addend, for independent chains x. Chain i starts at i, in
    /// every lane. Returns the sum of all chains.
    T (*multiply_add)(std::int64_t rounds, T factor, T addend);

    /// x <- factor x + addend in place: each byte read and written once.
    void (*update)(T* x, std::int64_t n, T factor, T addend);

    /// The sum of x, in an unspecified order: each byte read once.
    T (*read)(const T* x, std::int64_t n);
};

}  // namespace tapestry::kernels
