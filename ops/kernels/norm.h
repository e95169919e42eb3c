// Layer norm and RMS norm along rows, and their gradients.
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

    /// dweight and dbias get the sums over these rows alone.
    void (*layer_backward)(T* dx, T* dweight, T* dbias, const T* g, const T* x, const T* weight,
                           const T* mean, const T* rstd, std::int64_t rows, std::int64_t n);
    void (*rms_backward)(T* dx, T* dweight, const T* g, const T* x, const T* weight, const T* rstd,
                         std::int64_t rows, std::int64_t n);
};

}  // namespace tapestry::kernels
