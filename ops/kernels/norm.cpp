// Compiled once per ISA. A row is read two or three times, but from L1; the mean is subtracted
// before squaring, so a large mean costs no precision.
#include <tapestry/ops/kernels/norm.h>
#include <tapestry/ops/kernels/norm_rows.h>
#include <tapestry/ops/kernels/reduce_row.h>
#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

// avg(map(x)) of a row, for careful_unit.
template <class T>
struct RowAverage {
    const T* x;
    std::int64_t n;
    template <class Map>
    T operator()(const Map& map) const {
        return reduce_row<SumReducer>(x, n, map) / static_cast<T>(n);
    }
};

// Calls write(u), where u is the unit of the row (norm_rows.h).
template <bool kHasMean, class T, class Write>
Statistics<T> with_unit(const T* x, std::int64_t n, T eps, const Write& write) {
    Statistics<T> s{};
    if constexpr (kHasMean) s.mean = row_sum(x, n) / static_cast<T>(n);
    s.variance = reduce_row<SumReducer>(x, n, SquaredDistance<T>(s.mean)) / static_cast<T>(n);
    s.rstd = reciprocal_root(s.variance + eps);
    if (is_ordinary(s, eps)) {
        write(OrdinaryUnit<T, kHasMean>(s.mean, s.rstd));
    } else {
        write(careful_unit<kHasMean>(s, eps, RowAverage<T>{x, n}));
    }
    return s;
}

template <class T>
void layer(T* y, T* mean, T* rstd, const T* x, const T* weight, const T* bias, T eps,
           std::int64_t rows, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r, y += n, x += n) {
        const Statistics<T> s = with_unit<true>(x, n, eps, [&](const auto& unit) {
            for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
                const Batch<T> u = unit(part.get(x + i));
                part.put(y + i, fma(u, part.get(weight + i), part.get(bias + i)));
            });
        });
        mean[r] = s.mean;
        rstd[r] = s.rstd;
    }
}

template <class T>
void rms(T* y, T* rstd, const T* x, const T* weight, T eps, std::int64_t rows, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r, y += n, x += n) {
        const Statistics<T> s = with_unit<false>(x, n, eps, [&](const auto& unit) {
            for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
                part.put(y + i, unit(part.get(x + i)) * part.get(weight + i));
            });
        });
        rstd[r] = s.rstd;
    }
}

// One row's share of every gradient; kLayer false is RMS norm, without mean and bias.
template <bool kLayer, class T, class Unit>
void row_gradients(T* dx, T* dweight, T* dbias, const T* g, const T* x, const T* weight,
                   const Unit& unit, T rstd, std::int64_t n) {
    const Batch<T> scale(rstd);
    Batch<T> sum_h(T(0));
    Batch<T> sum_hu(T(0));
    for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
        const Batch<T> grad = part.get(g + i);  // 0 in the unused lanes of a tail
        const Batch<T> u = unit(part.get(x + i));
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
        const Batch<T> u = unit(part.get(x + i));
        const Batch<T> h = rounded<T>(part.get(g + i) * part.get(weight + i));
        part.put(dx + i, scale * (h - avg_h - u * avg_hu));
    });
}

template <bool kLayer, class T>
void row_backward(T* dx, T* dweight, T* dbias, const T* g, const T* x, const T* weight, T mean,
                  T rstd, std::int64_t n) {
    const auto with = [&](const auto& unit) {
        row_gradients<kLayer>(dx, dweight, dbias, g, x, weight, unit, rstd, n);
    };
    if (kLayer && is_far(mean, rstd)) {
        with(saved_careful_unit(mean, rstd, RowAverage<T>{x, n}));
    } else {
        with(OrdinaryUnit<T, true>(mean, rstd));
    }
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
