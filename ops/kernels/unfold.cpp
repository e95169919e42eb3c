// Compiled once per ISA. Small images have rows of a vector or less, so a row is copied by whole
// vectors that may overrun it, and the next row overwrites the excess. A vector much longer than
// the row would almost always cross a cache line: rows of up to 4 and up to 8 elements have their
// own vector widths.
#include <tapestry/ops/kernels/simd.h>
#include <tapestry/ops/kernels/unfold.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

/// Calls f(at, pixel, down, size) for each row (c, i, j) of the matrix: `at` is its offset in the
/// matrix, `pixel` the first pixel that it reads, and `down` and `size` the strides to the next row
/// of windows and to the next image.
template <class F>
inline void for_each_offset(const WindowGrid& g, const WindowRows& w, const F& f) {
    const std::int64_t down = g.row_stride * g.width, size = g.channels * g.height * g.width;
    std::int64_t at = 0;
    for (std::int64_t c = 0; c < g.channels; ++c) {
        for (std::int64_t i = 0; i < g.kernel_rows; ++i) {
            for (std::int64_t j = 0; j < g.kernel_columns; ++j) {
                const std::int64_t image = (c * g.height + i * g.row_dilation) * g.width +
                                           j * g.column_dilation + w.first * down;
                f(at, image, down, size);
                at += w.images * w.rows * g.columns;
            }
        }
    }
}

/// Calls f(at, pixel) for each row of windows of each row of the matrix, image by image.
template <class F>
inline void for_each_row(const WindowGrid& g, const WindowRows& w, const F& f) {
    for_each_offset(
        g, w, [&](std::int64_t at, std::int64_t image, std::int64_t down, std::int64_t size) {
            for (std::int64_t t = 0; t < w.images; ++t, image += size) {
                std::int64_t pixel = image;
                for (std::int64_t r = 0; r < w.rows; ++r, at += g.columns, pixel += down) {
                    f(at, pixel);
                }
            }
        });
}

template <std::int64_t N, class T>
inline void copy(T* to, const T* from) {
    __builtin_memcpy(to, from, N * sizeof(T));
}

/// A separate function, so the state of the loops fits in registers. For few rows per image.
template <std::int64_t N, class T>
[[gnu::noinline]] void copy_windows(T* to, const T* from, std::int64_t columns, std::int64_t down,
                                    std::int64_t size, std::int64_t rows, std::int64_t images) {
    for (std::int64_t t = 0; t < images; ++t, from += size) {
        const T* pixel = from;
        for (std::int64_t r = 0; r < rows; ++r, to += columns, pixel += down) copy<N>(to, pixel);
    }
}

template <std::int64_t N, class T>
void unfold_narrow(T* matrix, const T* images, const WindowGrid& g, const WindowRows& rows) {
    for_each_offset(g, rows,
                    [&](std::int64_t at, std::int64_t first, std::int64_t down, std::int64_t size) {
                        copy_windows<N>(matrix + at, images + first, g.columns, down, size,
                                        rows.rows, rows.images);
                    });
}

template <class T>
void unfold(T* matrix, const T* image, const WindowGrid& g, const WindowRows& rows) {
    static_assert(kLanes<T> <= kUnfoldSlack && 8 <= kUnfoldSlack);
    if (g.column_stride == 1 && g.columns <= 4) {
        unfold_narrow<4>(matrix, image, g, rows);
    } else if (g.column_stride == 1 && g.columns <= 8) {
        unfold_narrow<8>(matrix, image, g, rows);
    } else if (g.column_stride == 1) {
        for_each_row(g, rows, [=, n = g.columns](std::int64_t at, std::int64_t pixel) {
            for (std::int64_t q = 0; q < n; q += kLanes<T>) {
                store(matrix + at + q, load(image + pixel + q));
            }
        });
    } else {
        for_each_row(g, rows, [=, &g](std::int64_t at, std::int64_t pixel) {
            for (std::int64_t q = 0; q < g.columns; ++q) {
                matrix[at + q] = image[pixel + q * g.column_stride];
            }
        });
    }
}

template <class T>
inline void add_row(T* __restrict to, const T* __restrict from, std::int64_t n) {
    for (std::int64_t q = 0; q < n; ++q) to[q] += from[q];
}

/// A mask for a row of windows placed on a row of pixels: all bits set in [0, n), none outside.
template <class T>
class Lanes {
public:
    explicit Lanes(std::int64_t n) {
        unsigned char* bytes = reinterpret_cast<unsigned char*>(bits_ + kNarrowRow);
        for (std::size_t i = 0; i < static_cast<std::size_t>(n) * sizeof(T); ++i) bytes[i] = 0xff;
    }
    Batch<T> from(std::int64_t q) const { return load(bits_ + kNarrowRow + q); }

private:
    T bits_[3 * kNarrowRow] = {};
};

/// For narrow images a row of pixels is one or a few vectors. Each stays in a register while all
/// rows of windows over it are added; a row of windows shifted right by q pixels is read from q
/// elements earlier, and lanes outside it are masked. The masks are loaded in advance, because
/// loads at arbitrary offsets mostly cross cache lines. The next row of pixels is in another image,
/// so no load waits for a recent store. The order of summation is that of the plain loop.
template <class T>
void fold_narrow(T* image, const T* matrix, const WindowGrid& g, const WindowRows& w) {
    const Lanes<T> lanes(g.columns);
    const std::int64_t row = w.images * w.rows * g.columns;  // length of a row of the matrix
    const std::int64_t first = w.first * g.row_stride;
    const std::int64_t end =
        (w.first + w.rows - 1) * g.row_stride + (g.kernel_rows - 1) * g.row_dilation + 1;
    Batch<T> masks[kNarrowRow];      // per column of the kernel
    std::int64_t above[kNarrowRow];  // offsets in the matrix of the windows over a row of pixels
    const auto find_above = [&](std::int64_t y) {
        std::int64_t count = 0;
        for (std::int64_t i = 0; i < g.kernel_rows; ++i) {
            const std::int64_t down = y - i * g.row_dilation - first;
            const std::int64_t r = down / g.row_stride;
            if (down < 0 || r >= w.rows || r * g.row_stride != down) continue;
            above[count++] = i * g.kernel_columns * row + r * g.columns;
        }
        return count;
    };
    const auto add_windows = [&](Batch<T> sum, const T* windows, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
            const T* from = windows + above[i];
            for (std::int64_t j = 0; j < g.kernel_columns; ++j, from += row - g.column_dilation) {
                sum += load(from) & masks[j];
            }
        }
        return sum;
    };
    for (std::int64_t x = 0; x < g.width; x += kLanes<T>) {
        for (std::int64_t j = 0; j < g.kernel_columns; ++j) {
            masks[j] = lanes.from(x - j * g.column_dilation);
        }
        for (std::int64_t y = first; y < end; ++y) {
            const std::int64_t count = find_above(y);
            for (std::int64_t c = 0; c < g.channels; ++c) {
                const T* windows = matrix + c * g.kernel_rows * g.kernel_columns * row + x;
                T* pixels = image + (c * g.height + y) * g.width + x;
                for (std::int64_t t = 0; t < w.images; ++t) {
                    store(pixels, add_windows(load(pixels), windows, count));
                    windows += w.rows * g.columns;
                    pixels += g.channels * g.height * g.width;
                }
            }
        }
    }
}

template <class T>
void fold(T* image, const T* matrix, const WindowGrid& g, const WindowRows& rows) {
    static_assert(kLanes<T> <= kUnfoldSlack && kLanes<T> <= kNarrowRow);
    if (g.column_stride == 1 && g.width <= kNarrowRow && g.kernel_rows <= kNarrowRow) {
        fold_narrow(image, matrix, g, rows);
    } else if (g.column_stride == 1) {
        for_each_row(g, rows, [=, n = g.columns](std::int64_t at, std::int64_t pixel) {
            add_row(image + pixel, matrix + at, n);
        });
    } else {
        for_each_row(g, rows, [=, &g](std::int64_t at, std::int64_t pixel) {
            for (std::int64_t q = 0; q < g.columns; ++q) {
                image[pixel + q * g.column_stride] += matrix[at + q];
            }
        });
    }
}

template <std::int64_t N, class T>
void copy_rows_of(T* to, std::int64_t to_row, const T* from, std::int64_t from_row,
                  std::int64_t rows) {
    for (std::int64_t r = 0; r < rows; ++r, to += to_row, from += from_row) copy<N>(to, from);
}

template <class T>
void copy_rows(T* to, std::int64_t to_row, const T* from, std::int64_t from_row, std::int64_t rows,
               std::int64_t n) {
    if (n == 4) return copy_rows_of<4>(to, to_row, from, from_row, rows);
    if (n == 8) return copy_rows_of<8>(to, to_row, from, from_row, rows);
    if (n == 16) return copy_rows_of<16>(to, to_row, from, from_row, rows);
    for (std::int64_t r = 0; r < rows; ++r, to += to_row, from += from_row) {
        for_each_vector<T>(
            n, [&](std::int64_t i, const auto& part) { part.put(to + i, part.get(from + i)); });
    }
}

template <class T>
void fill(Unfold<T>& kernels) {
    kernels.unfold = unfold<T>;
    kernels.fold = fold<T>;
    kernels.copy_rows = copy_rows<T>;
}

}  // namespace

template <>
void install(Unfold<float>& kernels) {
    fill(kernels);
}

template <>
void install(Unfold<double>& kernels) {
    fill(kernels);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
