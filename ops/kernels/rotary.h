// Rows whose numbers turn in pairs, each by an angle of its own:
//
//     (a, b) -> (a cos - b sin, a sin + b cos)
#pragma once

#include <cstdint>

namespace tapestry::kernels {

/// Some rows of numbers, adjacent in a row. The first 2 `pairs` of each turn, the others are
/// copied.
template <class T>
struct RotaryRows {
    T* to = nullptr;
    const T* from = nullptr;
    std::int64_t to_row = 0, from_row = 0;  ///< from one row to the next
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
