// Compiled once per ISA. A row is read two or three times, but from L1; the mean is subtracted
// before squaring, so a large mean costs no precision.
#include <tapestry/ops/kernels/norm.h>
#include <tapestry/ops/kernels/reduce_row.h>
#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

// 1 / sqrt(avg((x - mean)^2) + eps)
template <class T>
T reciprocal_deviation(const T* x, std::int64_t n, T mean, T eps) {
    const T variance = reduce_row<SumReducer>(x, n, SquaredDistance<T>(mean)) / static_cast<T>(n);
    return (Batch<T>(T(1)) / sqrt(Batch<T>(variance + eps))).get(0);
}

template <class T>
void layer(T* y, T* mean, T* rstd, const T* x, const T* weight, const T* bias, T eps,
           std::int64_t rows, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r, y += n, x += n) {
        mean[r] = row_sum(x, n) / static_cast<T>(n);
        rstd[r] = reciprocal_deviation(x, n, mean[r], eps);
        const Batch<T> centre(mean[r]);
        const Batch<T> scale(rstd[r]);
        for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
            const Batch<T> u = (part.get(x + i) - centre) * scale;
            part.put(y + i, fma(u, part.get(weight + i), part.get(bias + i)));
        });
    }
}

template <class T>
void rms(T* y, T* rstd, const T* x, const T* weight, T eps, std::int64_t rows, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r, y += n, x += n) {
        rstd[r] = reciprocal_deviation(x, n, T(0), eps);
        const Batch<T> scale(rstd[r]);
        for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
            part.put(y + i, part.get(x + i) * scale * part.get(weight + i));
        });
    }
}

// One row's share of every gradient; kLayer false is RMS norm, without mean and bias.
template <bool kLayer, class T>
void row_backward(T* dx, T* dweight, T* dbias, const T* g, const T* x, const T* weight, T mean,
                  T rstd, std::int64_t n) {
    const Batch<T> centre(mean);
    const Batch<T> scale(rstd);
    Batch<T> sum_h(T(0));
    Batch<T> sum_hu(T(0));
    for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
        const Batch<T> grad = part.get(g + i);  // 0 in the unused lanes of a tail
        const Batch<T> u = (part.get(x + i) - centre) * scale;
        const Batch<T> h = rounded<T>(grad * part.get(weight + i));
        if constexpr (kLayer) {
            sum_h = sum_h + h;
            part.put(dbias + i, part.get(dbias + i) + grad);
        }
        sum_hu = fma(h, u, sum_hu);
        part.put(dweight + i, fma(grad, u, part.get(dweight + i)));
    });
    const Batch<T> avg_h(reduce_add<T>(sum_h) / static_cast<T>(n));
    const Batch<T> avg_hu(reduce_add<T>(sum_hu) / static_cast<T>(n));
    for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
        const Batch<T> u = (part.get(x + i) - centre) * scale;
        const Batch<T> h = rounded<T>(part.get(g + i) * part.get(weight + i));
        part.put(dx + i, scale * (h - avg_h - u * avg_hu));
    });
}

template <class T>
void clear(T* x, std::int64_t n) {
    for_each_vector<T>(n,
                       [&](std::int64_t i, const auto& part) { part.put(x + i, Batch<T>(T(0))); });
}

template <class T>
void layer_backward(T* dx, T* dweight, T* dbias, const T* g, const T* x, const T* weight,
                    const T* mean, const T* rstd, std::int64_t rows, std::int64_t n) {
    clear(dweight, n);
    clear(dbias, n);
    for (std::int64_t r = 0; r < rows; ++r, dx += n, g += n, x += n) {
        row_backward<true>(dx, dweight, dbias, g, x, weight, mean[r], rstd[r], n);
    }
}

template <class T>
void rms_backward(T* dx, T* dweight, const T* g, const T* x, const T* weight, const T* rstd,
                  std::int64_t rows, std::int64_t n) {
    T* const no_bias = nullptr;
    clear(dweight, n);
    for (std::int64_t r = 0; r < rows; ++r, dx += n, g += n, x += n) {
        row_backward<false>(dx, dweight, no_bias, g, x, weight, T(0), rstd[r], n);
    }
}

template <class T>
void fill(Norm<T>& kernels) {
    kernels.layer = layer<T>;
    kernels.rms = rms<T>;
    kernels.layer_backward = layer_backward<T>;
    kernels.rms_backward = rms_backward<T>;
}

}  // namespace

template <>
void install(Norm<float>& kernels) {
    fill(kernels);
}

template <>
void install(Norm<double>& kernels) {
    fill(kernels);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
