// Packing of blocks of A and B in the order in which the micro-kernel reads them. See gemm.h.
#pragma once

#include <tapestry/core/thread_exit.h>
#include <tapestry/ops/kernels/simd.h>

#include <new>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

// Squares of 16-byte rows are transposed in registers on every ISA; wider squares need shuffles
// across 16-byte lanes, which differ between ISAs. On AVX-512, where products are so fast that this
// took 20% of the time of y = x W^T, floats are transposed in 16 x 16 squares.
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

/// copy_rows, with each row zero-padded to a whole vector.
template <class T>
inline void copy_padded_rows(const T* from, std::int64_t from_row, T* to, std::int64_t to_row,
                             std::int64_t rows, std::int64_t cols) {
    const std::int64_t rest = cols % kLanes<T>, whole = cols - rest;
    for (std::int64_t i = 0; i < rows; ++i, from += from_row, to += to_row) {
        for (std::int64_t j = 0; j < whole; j += kLanes<T>) store(to + j, load(from + j));
        if (rest > 0) store(to + whole, load_partial(from + whole, rest));
    }
}

/// Side length, in elements of T, of the squares that transpose_square transposes.
template <class T>
inline constexpr std::int64_t kSquare = 16 / sizeof(T);

template <class T>
inline void transpose_square(const T* from, std::int64_t from_row, T* to, std::int64_t to_row) {
    transpose_quad(from, from_row, to, to_row);
}

#if defined(__AVX512BW__)
template <>
inline constexpr std::int64_t kSquare<float> = 16;

/// Transposes rows a, b, c, d within each lane, in place.
inline void transpose_lanes(__m512& a, __m512& b, __m512& c, __m512& d) {
    const __m512 low_ac = _mm512_unpacklo_ps(a, c), low_bd = _mm512_unpacklo_ps(b, d);
    const __m512 high_ac = _mm512_unpackhi_ps(a, c), high_bd = _mm512_unpackhi_ps(b, d);
    a = _mm512_unpacklo_ps(low_ac, low_bd);
    b = _mm512_unpackhi_ps(low_ac, low_bd);
    c = _mm512_unpacklo_ps(high_ac, high_bd);
    d = _mm512_unpackhi_ps(high_ac, high_bd);
}

/// 16 x 16 floats, 8 columns of `from` at a time: rows i and i + 8 share a register, so data
/// crosses lanes only once.
template <>
inline void transpose_square(const float* from, std::int64_t from_row, float* to,
                             std::int64_t to_row) {
    const __m512i even =
        _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
    const __m512i odd =
        _mm512_setr_epi32(4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
    for (int half = 0; half < 2; ++half, from += 8, to += 8 * to_row) {
        __m512 x[8];
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) {
            x[i] = _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(from + i * from_row)),
                                      _mm256_loadu_ps(from + (i + 8) * from_row), 1);
        }
        transpose_lanes(x[0], x[1], x[2],
                        x[3]);  // lanes: columns c and c + 4 of rows 0 to 3 and 8 to 11
        transpose_lanes(x[4], x[5], x[6], x[7]);
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c) {
            _mm512_storeu_ps(to + c * to_row, _mm512_permutex2var_ps(x[c], even, x[c + 4]));
            _mm512_storeu_ps(to + (c + 4) * to_row, _mm512_permutex2var_ps(x[c], odd, x[c + 4]));
        }
    }
}
#endif

/// copy_strided for from_row = 1.
template <class T>
inline void copy_transposed(const T* from, std::int64_t from_col, T* to, std::int64_t to_row,
                            std::int64_t rows, std::int64_t cols) {
    // 1 KiB of each column of `from` at a time: long enough for the prefetcher to detect a stream
    // when columns are pages apart, short enough that the output (16 KiB per vector of floats on
    // AVX-512) is still in cache for the remaining columns.
    constexpr std::int64_t kStretch = 1024 / sizeof(T), kQuad = 16 / sizeof(T);
    const std::int64_t whole_rows = rows - rows % kSquare<T>, whole_cols = cols - cols % kSquare<T>;
    for (std::int64_t begin = 0; begin < whole_rows; begin += kStretch) {
        const std::int64_t end = begin + kStretch < whole_rows ? begin + kStretch : whole_rows;
        for (std::int64_t j = 0; j < whole_cols; j += kSquare<T>) {
            for (std::int64_t i = begin; i < end; i += kSquare<T>) {
                transpose_square(from + j * from_col + i, from_col, to + i * to_row + j, to_row);
            }
        }
    }
    // The rest of the rows, then of the columns: in quads, then element by element.
    const auto rest = [=](std::int64_t i, std::int64_t j, std::int64_t last_i,
                          std::int64_t last_j) {
        const std::int64_t quads_i = i + (last_i - i) / kQuad * kQuad;
        const std::int64_t quads_j = j + (last_j - j) / kQuad * kQuad;
        for (std::int64_t q = j; q < quads_j; q += kQuad) {
            for (std::int64_t p = i; p < quads_i; p += kQuad) {
                transpose_quad(from + q * from_col + p, from_col, to + p * to_row + q, to_row);
            }
        }
        copy_strided(from + quads_i + j * from_col, 1, from_col, to + quads_i * to_row + j, to_row,
                     last_i - quads_i, quads_j - j);
        copy_strided(from + i + quads_j * from_col, 1, from_col, to + i * to_row + quads_j, to_row,
                     last_i - i, last_j - quads_j);
    };
    rest(whole_rows, 0, rows, whole_cols);
    rest(0, whole_cols, rows, cols);
}

/// copy_strided by the fastest method that the strides allow.
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

/// Splits `total` items into `parts` ranges whose lengths differ by at most one: 513 is 257 + 256,
/// not 512 and a remainder of 1 that costs a pass over C.
struct Cut {
    std::int64_t total = 0, parts = 1;
    std::int64_t begin(std::int64_t part) const { return total * part / parts; }
    std::int64_t size(std::int64_t part) const { return begin(part + 1) - begin(part); }
};

/// A thread's scratch memory, reused between products and reallocated when it is too small.
class Scratch {
public:
    Scratch() = default;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { release(); }

    /// Returns uninitialised memory for `count` elements of T. Invalidates the result of the
    /// previous call.
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

/// Purpose of a scratch buffer; buffers in use at the same time have different ones.
enum class Room { a, b, panel, sums, bias, heads };

template <Room>
Scratch& scratch_for() {
    static thread_local Scratch* scratch = nullptr;
    return of_this_thread(scratch);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
