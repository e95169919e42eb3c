// Conversion of half-precision numbers to f32, in which kernels compute, and back.
//
// Only bf16: f16 is a storage format and is converted element by element, by core/half.h.
#pragma once

#include <cstdint>

namespace tapestry {
struct Bf16;
}

namespace tapestry::kernels {

/// A position in the random stream that Philox generates under `key`: from element `first` on.
/// Element e uses words 2 e and 2 e + 1 of the stream.
struct Draw {
    std::uint64_t key;
    std::uint64_t first;
};

/// Random 16-bit values per element: the lower and upper half of its first word, and the lower half
/// of its second.
inline constexpr int kChances = 3;

struct Half {
    /// y[i] = x[i], 0 <= i < n, without overlap. Prefetches the data `ahead` elements after x,
    /// which need not exist.
    void (*widen)(float* y, const Bf16* x, std::int64_t n, std::int64_t ahead);
    /// The reverse, rounded to nearest even, with the bits of core/half.h.
    void (*narrow)(Bf16* y, const float* x, std::int64_t n);
    /// The same for `count` rows of n numbers; bf16 rows are `row` apart, f32 rows adjacent.
    void (*widen_rows)(float* y, const Bf16* x, std::int64_t row, std::int64_t count,
                       std::int64_t n);
    void (*narrow_rows)(Bf16* y, std::int64_t row, const float* x, std::int64_t count,
                        std::int64_t n);
    /// Rounds stochastically by chance[i], as in core/half.h.
    void (*narrow_by_chance)(Bf16* y, const float* x, const std::uint16_t* chance, std::int64_t n);
    /// Fills chances[k][i] for element draw.first + i, 0 <= i < n.
    void (*chances)(std::uint16_t* const (&chances)[kChances], const Draw& draw, std::int64_t n);
};

}  // namespace tapestry::kernels
