// Copies of blocks of A and B in the order the micro-kernel reads them.
#pragma once

#include <new>

#include "ops/kernels/simd.h"

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

/// 16 bytes: 4 floats or 2 doubles, on every ISA.
#if defined(__aarch64__)
template <class T>
using Quad = xsimd::batch<T, xsimd::neon64>;
#else
template <class T>
using Quad = xsimd::batch<T, xsimd::sse2>;
#endif

/// to[j, i] = from[i, j] for a square of 16-byte rows.
template <class T>
inline void transpose_quad(const T* from, std::int64_t from_row, T* to, std::int64_t to_row) {
    using Q = Quad<T>;
    const auto row = [&](std::int64_t i) { return Q::load_unaligned(from + i * from_row); };
    if constexpr (sizeof(T) == 4) {
        const Q x0 = row(0), x1 = row(1), x2 = row(2), x3 = row(3);
        const Q low02 = xsimd::zip_lo(x0, x2), low13 = xsimd::zip_lo(x1, x3);
        const Q high02 = xsimd::zip_hi(x0, x2), high13 = xsimd::zip_hi(x1, x3);
        xsimd::zip_lo(low02, low13).store_unaligned(to);
        xsimd::zip_hi(low02, low13).store_unaligned(to + to_row);
        xsimd::zip_lo(high02, high13).store_unaligned(to + 2 * to_row);
        xsimd::zip_hi(high02, high13).store_unaligned(to + 3 * to_row);
    } else {
        const Q x0 = row(0), x1 = row(1);
        xsimd::zip_lo(x0, x1).store_unaligned(to);
        xsimd::zip_hi(x0, x1).store_unaligned(to + to_row);
    }
}

/// to[i * to_row + j] = from[i * from_row + j * from_col], any strides.
template <class T>
inline void copy_strided(const T* from, std::int64_t from_row, std::int64_t from_col, T* to,
                         std::int64_t to_row, std::int64_t rows, std::int64_t cols) {
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < cols; ++j) {
            to[i * to_row + j] = from[i * from_row + j * from_col];
        }
    }
}

/// The same where from_col is 1.
template <class T>
inline void copy_rows(const T* from, std::int64_t from_row, T* to, std::int64_t to_row,
                      std::int64_t rows, std::int64_t cols) {
    const std::int64_t whole = cols - cols % kLanes<T>;
    for (std::int64_t i = 0; i < rows; ++i, from += from_row, to += to_row) {
        for (std::int64_t j = 0; j < whole; j += kLanes<T>) store(to + j, load(from + j));
        if (whole < cols) {
            store_partial(to + whole, load_partial(from + whole, cols - whole), cols - whole);
        }
    }
}

/// The same where from_row is 1.
template <class T>
inline void copy_transposed(const T* from, std::int64_t from_col, T* to, std::int64_t to_row,
                            std::int64_t rows, std::int64_t cols) {
    constexpr std::int64_t kQuad = 16 / sizeof(T);
    const std::int64_t whole_rows = rows - rows % kQuad;
    const std::int64_t whole_cols = cols - cols % kQuad;
    for (std::int64_t j = 0; j < whole_cols; j += kQuad) {
        for (std::int64_t i = 0; i < whole_rows; i += kQuad) {
            transpose_quad(from + j * from_col + i, from_col, to + i * to_row + j, to_row);
        }
    }
    copy_strided(from + whole_rows, 1, from_col, to + whole_rows * to_row, to_row,
                 rows - whole_rows, whole_cols);
    copy_strided(from + whole_cols * from_col, 1, from_col, to + whole_cols, to_row, rows,
                 cols - whole_cols);
}

/// to[i * to_row + j] = from[i * from_row + j * from_col], the fastest way the strides allow.
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

/// Memory of one thread, kept from call to call and grown when a larger product comes.
class Scratch {
public:
    Scratch() = default;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { release(); }

    /// At least `count` elements of T; what the last call returned is void.
    template <class T>
    T* take(std::int64_t count) {
        const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
        if (bytes > bytes_) {
            release();
            data_ = ::operator new(static_cast<std::size_t>(bytes), kAlignment);
            bytes_ = bytes;
        }
        return static_cast<T*>(data_);
    }

private:
    static constexpr std::align_val_t kAlignment{64};  // a cache line, an AVX-512 vector

    void release() {
        if (data_ != nullptr) ::operator delete(data_, kAlignment);
        data_ = nullptr;
        bytes_ = 0;
    }

    void* data_ = nullptr;
    std::int64_t bytes_ = 0;
};

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
