// Numbers of 16 bits on their way into kernels, which compute in f32, and out of them.
//
// bf16 alone: f16 is for files and for memory, and goes by core/half.h, number by number.
#pragma once

#include <cstdint>

namespace tapestry {
struct Bf16;
}

namespace tapestry::kernels {

struct Half {
    /// y[i] = x[i], 0 <= i < n. y overlaps nothing.
    void (*widen)(float* y, const Bf16* x, std::int64_t n);
    /// The same, rounded to nearest even, bit for bit as core/half.h does.
    void (*narrow)(Bf16* y, const float* x, std::int64_t n);
};

}  // namespace tapestry::kernels
