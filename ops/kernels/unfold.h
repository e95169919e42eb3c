// Windows over an image laid out as the columns of a matrix, and back: what turns a convolution
// into a matrix product (Chellapilla, Puri and Simard, 2006, "High Performance Convolutional Neural
// Networks for Document Processing"; elsewhere im2col and col2im).
#pragma once

#include <cstdint>

namespace tapestry::kernels {

/// Where windows lie on images [channels, height, width] that have their padding around them.
struct WindowGrid {
    std::int64_t channels = 0, height = 0, width = 0;
    std::int64_t kernel_rows = 1, kernel_columns = 1;
    std::int64_t row_stride = 1, column_stride = 1;
    std::int64_t row_dilation = 1, column_dilation = 1;
    std::int64_t columns = 0;  ///< windows side by side
};

/// Of how many images, which lie one behind the other, and which rows of windows of each.
struct WindowRows {
    std::int64_t images = 1, first = 0, rows = 0;
};

/// Elements behind an image or a matrix that unfold() may read and write, and fold() behind an
/// image: they move whole vectors.
inline constexpr std::int64_t kUnfoldSlack = 16;

/// Images at most this wide are folded row by row; then fold() may read as many elements before the
/// matrix and behind it.
inline constexpr std::int64_t kNarrowRow = 64;

template <class T>
struct Unfold {
    /// matrix[(c, i, j), (t, r, q)] = images[t, c, (first + r) row_stride + i row_dilation,
    /// q column_stride + j column_dilation]. Both have kUnfoldSlack elements behind them.
    void (*unfold)(T* matrix, const T* images, const WindowGrid& grid, const WindowRows& rows);
    /// The other way round: adds each element of the matrix to the pixel that it was read from. The
    /// matrix has kNarrowRow elements before and behind it, the images have kUnfoldSlack behind
    /// them.
    void (*fold)(T* images, const T* matrix, const WindowGrid& grid, const WindowRows& rows);
    /// to[r, i] = from[r, i] for `rows` rows of n, which lie to_row and from_row apart.
    void (*copy_rows)(T* to, std::int64_t to_row, const T* from, std::int64_t from_row,
                      std::int64_t rows, std::int64_t n);
};

}  // namespace tapestry::kernels
