// Compiled once per ISA. Images of small tasks have rows of a vector or less: so a row is copied by
// whole vectors that reach beyond it, and the next row overwrites what they left there.
#include <tapestry/ops/kernels/unfold.h>
#include <tapestry/ops/kernels/vectors.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

/// Calls f(at, pixel) for each row of windows of each row (c, i, j) of the matrix, image by image:
/// with where it stands in the matrix, and the first pixel it reads.
template <class F>
inline void for_each_row(const WindowGrid& g, const WindowRows& w, const F& f) {
    const std::int64_t down = g.row_stride * g.width, size = g.channels * g.height * g.width;
    std::int64_t at = 0;
    for (std::int64_t c = 0; c < g.channels; ++c) {
        for (std::int64_t i = 0; i < g.kernel_rows; ++i) {
            for (std::int64_t j = 0; j < g.kernel_columns; ++j) {
                std::int64_t image = (c * g.height + i * g.row_dilation) * g.width +
                                     j * g.column_dilation + w.first * down;
                for (std::int64_t t = 0; t < w.images; ++t, image += size) {
                    std::int64_t pixel = image;
                    for (std::int64_t r = 0; r < w.rows; ++r, at += g.columns, pixel += down) {
                        f(at, pixel);
                    }
                }
            }
        }
    }
}

template <class T>
void unfold(T* matrix, const T* image, const WindowGrid& g, const WindowRows& rows) {
    static_assert(kLanes<T> <= kUnfoldSlack);
    if (g.column_stride == 1) {
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

// No vectors of parts here: they count as whole ones where the processor asks whether a load
// overlaps a store of a moment ago, and each row would wait for the one before.
template <class T>
inline void add_row(T* __restrict to, const T* __restrict from, std::int64_t n) {
    for (std::int64_t q = 0; q < n; ++q) to[q] += from[q];
}

template <class T>
void fold(T* image, const T* matrix, const WindowGrid& g, const WindowRows& rows) {
    if (g.column_stride == 1) {
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

template <class T>
void copy_rows(T* to, std::int64_t to_row, const T* from, std::int64_t from_row, std::int64_t rows,
               std::int64_t n) {
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
