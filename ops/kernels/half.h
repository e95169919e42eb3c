// Numbers of 16 bits on their way into kernels, which compute in f32, and out of them.
//
// bf16 alone: f16 is for files and for memory, and goes by core/half.h, number by number.
#pragma once

#include <cstdint>

namespace tapestry {
struct Bf16;
}

namespace tapestry::kernels {

/// Where numbers to be drawn stand: in the stream that Philox makes under a key, from number
/// `first` on. Number e has the words 2 e and 2 e + 1 of the stream.
struct Draw {
    std::uint64_t key;
    std::uint64_t first;
};

/// What each number has: the lower and upper half of its first word, and the lower of its second.
inline constexpr int kChances = 3;

struct Half {
    /// y[i] = x[i], 0 <= i < n. y overlaps nothing. What is `ahead` of x will be wanted next, and
    /// is asked for meanwhile; it need not be there.
    void (*widen)(float* y, const Bf16* x, std::int64_t n, std::int64_t ahead);
    /// The same, rounded to nearest even, bit for bit as core/half.h does.
    void (*narrow)(Bf16* y, const float* x, std::int64_t n);
    /// The same of `count` rows of n numbers, those of 16 bits `row` apart, those of f32 side by
    /// side.
    void (*widen_rows)(float* y, const Bf16* x, std::int64_t row, std::int64_t count,
                       std::int64_t n);
    void (*narrow_rows)(Bf16* y, std::int64_t row, const float* x, std::int64_t count,
                        std::int64_t n);
    /// Rounded by chance[i], as core/half.h does.
    void (*narrow_by_chance)(Bf16* y, const float* x, const std::uint16_t* chance, std::int64_t n);
    /// chances[k][i] of number draw.first + i, 0 <= i < n.
    void (*chances)(std::uint16_t* const (&chances)[kChances], const Draw& draw, std::int64_t n);
};

}  // namespace tapestry::kernels
