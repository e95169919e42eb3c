// Copies of blocks of A and B, in the order the micro-kernel reads them. See gemm.h.
#pragma once

#include <tapestry/ops/kernels/simd.h>

#include <new>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

// A square of 16-byte rows is transposed in registers, on every ISA: wider squares need shuffles
// across the 16-byte lanes, which no two ISAs spell alike, and would gain 2% on 256 rows of A.
#if defined(__aarch64__)
template <class T>
using Quad = xsimd::batch<T, xsimd::neon64>;
#else
template <class T>
using Quad = xsimd::batch<T, xsimd::sse2>;
#endif

/// to[j, i] = from[i, j] for 4 x 4 floats or 2 x 2 doubles.
template <class T>
inline void transpose_quad(const T* from, std::int64_t from_row, T* to, std::int64_t to_row) {
    const auto row = [&](std::int64_t i) { return Quad<T>::load_unaligned(from + i * from_row); };
    const auto put = [&](std::int64_t i, const Quad<T>& x) { x.store_unaligned(to + i * to_row); };
    if constexpr (sizeof(T) == 4) {
        const Quad<T> x0 = row(0), x1 = row(1), x2 = row(2), x3 = row(3);
        const Quad<T> low02 = xsimd::zip_lo(x0, x2), low13 = xsimd::zip_lo(x1, x3);
        const Quad<T> high02 = xsimd::zip_hi(x0, x2), high13 = xsimd::zip_hi(x1, x3);
        put(0, xsimd::zip_lo(low02, low13));
        put(1, xsimd::zip_hi(low02, low13));
        put(2, xsimd::zip_lo(high02, high13));
        put(3, xsimd::zip_hi(high02, high13));
    } else {
        const Quad<T> x0 = row(0), x1 = row(1);
        put(0, xsimd::zip_lo(x0, x1));
        put(1, xsimd::zip_hi(x0, x1));
    }
}

/// to[i * to_row + j] = from[i * from_row + j * from_col], 0 <= i < rows, 0 <= j < cols.
template <class T>
inline void copy_strided(const T* from, std::int64_t from_row, std::int64_t from_col, T* to,
                         std::int64_t to_row, std::int64_t rows, std::int64_t cols) {
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < cols; ++j) {
            to[i * to_row + j] = from[i * from_row + j * from_col];
        }
    }
}

/// copy_strided for from_col = 1.
template <class T>
inline void copy_rows(const T* from, std::int64_t from_row, T* to, std::int64_t to_row,
                      std::int64_t rows, std::int64_t cols) {
    const std::int64_t rest = cols % kLanes<T>, whole = cols - rest;
    for (std::int64_t i = 0; i < rows; ++i, from += from_row, to += to_row) {
        for (std::int64_t j = 0; j < whole; j += kLanes<T>) store(to + j, load(from + j));
        if (rest > 0) store_partial(to + whole, load_partial(from + whole, rest), rest);
    }
}

/// copy_strided for from_row = 1.
template <class T>
inline void copy_transposed(const T* from, std::int64_t from_col, T* to, std::int64_t to_row,
                            std::int64_t rows, std::int64_t cols) {
    // 1 KiB of each column of `from` at a time: long enough for the prefetcher to see a stream
    // where columns lie pages apart, short enough for what is written (16 KiB per vector of
    // floats on AVX-512) to meet its remaining columns in cache.
    constexpr std::int64_t kQuad = 16 / sizeof(T), kStretch = 1024 / sizeof(T);
    const std::int64_t whole_rows = rows - rows % kQuad, whole_cols = cols - cols % kQuad;
    for (std::int64_t begin = 0; begin < whole_rows; begin += kStretch) {
        const std::int64_t end = begin + kStretch < whole_rows ? begin + kStretch : whole_rows;
        for (std::int64_t j = 0; j < whole_cols; j += kQuad) {
            for (std::int64_t i = begin; i < end; i += kQuad) {
                transpose_quad(from + j * from_col + i, from_col, to + i * to_row + j, to_row);
            }
        }
    }
    copy_strided(from + whole_rows, 1, from_col, to + whole_rows * to_row, to_row,
                 rows - whole_rows, whole_cols);
    copy_strided(from + whole_cols * from_col, 1, from_col, to + whole_cols, to_row, rows,
                 cols - whole_cols);
}

/// copy_strided, the fastest way the strides allow.
template <class T>
inline void copy_block(const T* from, std::int64_t from_row, std::int64_t from_col, T* to,
                       std::int64_t to_row, std::int64_t rows, std::int64_t cols) {
    if (from_col == 1) {
        copy_rows(from, from_row, to, to_row, rows, cols);
    } else if (from_row == 1) {
        copy_transposed(from, from_col, to, to_row, rows, cols);
    } else {
        copy_strided(from, from_row, from_col, to, to_row, rows, cols);
    }
}

constexpr std::int64_t smaller(std::int64_t x, std::int64_t y) { return x < y ? x : y; }

constexpr std::int64_t divide_up(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }

/// `total` things in `parts` runs whose lengths differ by one at most: 513 is 257 + 256, not 512
/// and a runt that costs a pass over C.
struct Cut {
    std::int64_t total = 0, parts = 1;
    std::int64_t begin(std::int64_t part) const { return total * part / parts; }
    std::int64_t size(std::int64_t part) const { return begin(part + 1) - begin(part); }
};

/// Memory of one thread, kept from product to product and replaced when a larger one comes.
class Scratch {
public:
    Scratch() = default;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { release(); }

    /// Room for `count` elements of T, uninitialized. What an earlier call returned is void.
    template <class T>
    T* take(std::int64_t count) {
        const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
        if (bytes > bytes_) {
            release();
            data_ = ::operator new(bytes, kAlignment);
            bytes_ = bytes;
        }
        return static_cast<T*>(data_);
    }

private:
    static constexpr std::align_val_t kAlignment{64};  // a cache line, and an AVX-512 vector

    void release() {
        ::operator delete(data_, kAlignment);
        data_ = nullptr;
        bytes_ = 0;
    }

    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
