// Rotation of pairs of elements in rows, each pair by its own angle:
//
//     (a, b) -> (a cos - b sin, a sin + b cos)
#pragma once

#include <cstdint>

namespace tapestry::kernels {

/// Some contiguous rows. The first 2 `pairs` elements of each are rotated, the others copied.
template <class T>
struct RotaryRows {
    T* to = nullptr;
    const T* from = nullptr;
    std::int64_t to_row = 0, from_row = 0;  ///< row strides
    const T* cos = nullptr;                 ///< [rows, pairs]
    const T* sin = nullptr;
    std::int64_t rows = 0, pairs = 0, width = 0;
    T direction = 1;  ///< -1: back
};

template <class T>
struct Rotary {
    /// Pairs (0, 1), (2, 3), ...
    void (*interleaved)(const RotaryRows<T>& rows);
    /// Pairs (0, pairs), (1, pairs + 1), ...
    void (*halves)(const RotaryRows<T>& rows);
};

}  // namespace tapestry::kernels
