// Windows over an image as the columns of a matrix, and back, which turns a convolution into a
// matrix product (Chellapilla, Puri and Simard, 2006, "High Performance Convolutional Neural
// Networks for Document Processing"; also known as im2col and col2im).
#pragma once

#include <cstdint>

namespace tapestry::kernels {

/// Layout of the windows on padded images [channels, height, width].
struct WindowGrid {
    std::int64_t channels = 0, height = 0, width = 0;
    std::int64_t kernel_rows = 1, kernel_columns = 1;
    std::int64_t row_stride = 1, column_stride = 1;
    std::int64_t row_dilation = 1, column_dilation = 1;
    std::int64_t columns = 0;  ///< windows per row
};

/// The number of (consecutive) images, and the range of rows of windows in each.
struct WindowRows {
    std::int64_t images = 1, first = 0, rows = 0;
};

/// Elements past the end of an image or a matrix that unfold() may access, and fold() past the end
/// of an image, because they move whole vectors.
inline constexpr std::int64_t kUnfoldSlack = 16;

/// Images at most this wide are folded row by row; then fold() may read this many elements before
/// and after the matrix.
inline constexpr std::int64_t kNarrowRow = 64;

template <class T>
struct Unfold {
    /// matrix[(c, i, j), (t, r, q)] = images[t, c, (first + r) row_stride + i row_dilation, q
    /// column_stride + j column_dilation]. Both are followed by kUnfoldSlack elements.
    void (*unfold)(T* matrix, const T* images, const WindowGrid& grid, const WindowRows& rows);
    /// The adjoint: adds each element of the matrix to the pixel that it was read from. The matrix
    /// has kNarrowRow elements before and after it, the images kUnfoldSlack after them.
    void (*fold)(T* images, const T* matrix, const WindowGrid& grid, const WindowRows& rows);
    /// to[r, i] = from[r, i] for `rows` rows of n, with strides to_row and from_row.
    void (*copy_rows)(T* to, std::int64_t to_row, const T* from, std::int64_t from_row,
                      std::int64_t rows, std::int64_t n);
};

}  // namespace tapestry::kernels
