// Norms and their gradients: layer norm and RMS norm along rows, batch norm and group norm over
// segmented rows.
//
// Rows are dense, n long; weight, bias and their gradients are [n]; mean and rstd are [rows].
// With u = (x - mean) rstd and h = g weight, the gradients are (Ba et al., 2016; Zhang and
// Sennrich, 2019)
//     dx = rstd (h - avg(h) - u avg(h u)),  dweight = sum_rows g u,  dbias = sum_rows g
// where RMS norm has mean = 0 and no avg(h).
#pragma once

#include <cstdint>

namespace tapestry::kernels {

template <class T>
struct Norm {
    /// y = (x - mean) rstd weight + bias; writes mean and rstd = 1 / sqrt(variance + eps).
    void (*layer)(T* y, T* mean, T* rstd, const T* x, const T* weight, const T* bias, T eps,
                  std::int64_t rows, std::int64_t n);
    /// y = x rstd weight; writes rstd = 1 / sqrt(avg(x^2) + eps).
    void (*rms)(T* y, T* rstd, const T* x, const T* weight, T eps, std::int64_t rows,
                std::int64_t n);

    /// dweight and dbias receive the sums over only these rows.
    void (*layer_backward)(T* dx, T* dweight, T* dbias, const T* g, const T* x, const T* weight,
                           const T* mean, const T* rstd, std::int64_t rows, std::int64_t n);
    void (*rms_backward)(T* dx, T* dweight, const T* g, const T* x, const T* weight, const T* rstd,
                         std::int64_t rows, std::int64_t n);
};

// ---- batch norm and group norm ------------------------------------------------------------------
// Here a row is the set of elements that share a mean and a variance: all pixels of a channel in
// all images, or of a few channels in one image. In memory it is segments of equal length and
// spacing; a segment is one channel of one image, so it has one weight w and one bias b. With
// u = (x - mean) / sqrt(variance + eps) and h = g w, over a row's n elements,
//     y = u w + b,   dx = (h - avg(h) - u avg(h u)) / sqrt(variance + eps),
//     dw = sum g u,  db = sum g
// (Ioffe and Szegedy, 2015; Wu and He, 2018). Sums of segments are added in order, in f64.

struct Segments {
    std::int64_t count = 0, stride = 0, length = 0;
    std::int64_t weight_step = 0;  ///< 0: all segments share one weight; 1: each has the next
};

template <class T>
struct ChannelNorm {
    /// Writes y, and the row's mean, (biased) variance and rstd = 1 / sqrt(variance + eps), which
    /// is not 0 if the variance overflows.
    void (*forward)(T* y, T* mean, T* variance, T* rstd, const T* x, const T* weight, const T* bias,
                    T eps, const Segments& row);
    /// Writes dx, and dweight and dbias (indexed like weight): the sums over only this row.
    void (*backward)(T* dx, T* dweight, T* dbias, const T* g, const T* x, const T* weight, T mean,
                     T rstd, const Segments& row);
};

}  // namespace tapestry::kernels
