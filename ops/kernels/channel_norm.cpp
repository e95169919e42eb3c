// Compiled once per ISA. The mean is subtracted before squaring, so a large mean costs no
// precision; this reads the row again, mostly from L1 or L2.
#include <tapestry/ops/kernels/norm.h>
#include <tapestry/ops/kernels/norm_rows.h>
#include <tapestry/ops/kernels/reduce_row.h>
#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

// avg(map(x)) over all segments.
template <class T>
struct Average {
    const T* x;
    Segments row;
    template <class Map>
    T operator()(const Map& map) const {
        double sum = 0;
        for (std::int64_t s = 0; s < row.count; ++s) {
            sum += static_cast<double>(reduce_row<SumReducer>(x + s * row.stride, row.length, map));
        }
        return static_cast<T>(sum / static_cast<double>(row.count * row.length));
    }
};

template <class T, class Unit>
void write(T* y, const T* x, const T* weight, const T* bias, const Unit& unit,
           const Segments& row) {
    for (std::int64_t s = 0; s < row.count; ++s, x += row.stride, y += row.stride) {
        const Batch<T> w(weight[s * row.weight_step]);
        const Batch<T> b(bias[s * row.weight_step]);
        for_each_vector<T>(row.length, [&](std::int64_t i, const auto& part) {
            part.put(y + i, fma(unit(part.get(x + i)), w, b));
        });
    }
}

template <class T>
void forward(T* y, T* mean, T* variance, T* rstd, const T* x, const T* weight, const T* bias, T eps,
             const Segments& row) {
    const Average<T> average{x, row};
    Statistics<T> s{};
    s.mean = average(Plain<T>{T(0)});
    s.variance = average(SquaredDistance<T>(s.mean));
    s.rstd = reciprocal_root(s.variance + eps);
    if (is_ordinary(s, eps)) {
        write(y, x, weight, bias, OrdinaryUnit<T>(s.mean, s.rstd), row);
    } else {
        write(y, x, weight, bias, careful_unit<true>(s, eps, average), row);
    }
    *mean = s.mean;
    *variance = s.variance;
    *rstd = s.rstd;
}

// sum g and sum g u of one segment.
template <class T, class Unit>
void add_up(double& sum_g, double& sum_gu, const T* g, const T* x, const Unit& unit,
            std::int64_t n) {
    Batch<T> of_g(T(0));
    Batch<T> of_gu(T(0));
    for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
        const Batch<T> grad = part.get(g + i);  // 0 in the unused lanes of a tail
        of_g = of_g + grad;
        of_gu = fma(grad, unit(part.get(x + i)), of_gu);
    });
    sum_g = static_cast<double>(reduce_add<T>(of_g));
    sum_gu = static_cast<double>(reduce_add<T>(of_gu));
}

template <class T, class Unit>
void gradients(T* dx, T* dweight, T* dbias, const T* g, const T* x, const T* weight,
               const Unit& unit, T rstd, const Segments& row) {
    const Batch<T> scale(rstd);
    double all_g = 0, all_gu = 0, all_h = 0, all_hu = 0;
    for (std::int64_t s = 0; s < row.count; ++s) {
        double sum_g = 0, sum_gu = 0;
        add_up(sum_g, sum_gu, g + s * row.stride, x + s * row.stride, unit, row.length);
        const auto w = static_cast<double>(weight[s * row.weight_step]);
        all_g += sum_g;
        all_gu += sum_gu;
        all_h += w * sum_g;
        all_hu += w * sum_gu;
        if (row.weight_step != 0) {
            dweight[s] = static_cast<T>(sum_gu);
            dbias[s] = static_cast<T>(sum_g);
        }
    }
    if (row.weight_step == 0) {
        *dweight = static_cast<T>(all_gu);
        *dbias = static_cast<T>(all_g);
    }
    const auto n = static_cast<double>(row.count * row.length);
    const Batch<T> avg_h(static_cast<T>(all_h / n));
    const Batch<T> avg_hu(static_cast<T>(all_hu / n));
    for (std::int64_t s = 0; s < row.count;
         ++s, dx += row.stride, g += row.stride, x += row.stride) {
        const Batch<T> w(weight[s * row.weight_step]);
        for_each_vector<T>(row.length, [&](std::int64_t i, const auto& part) {
            const Batch<T> u = unit(part.get(x + i));
            const Batch<T> h = rounded<T>(part.get(g + i) * w);
            part.put(dx + i, scale * (h - avg_h - u * avg_hu));
        });
    }
}

template <class T>
void backward(T* dx, T* dweight, T* dbias, const T* g, const T* x, const T* weight, T mean, T rstd,
              const Segments& row) {
    const auto with = [&](const auto& unit) {
        gradients(dx, dweight, dbias, g, x, weight, unit, rstd, row);
    };
    if (is_far(mean, rstd)) {
        with(saved_careful_unit(mean, rstd, Average<T>{x, row}));
    } else {
        with(OrdinaryUnit<T>(mean, rstd));
    }
}

template <class T>
void fill(ChannelNorm<T>& kernels) {
    kernels.forward = forward<T>;
    kernels.backward = backward<T>;
}

}  // namespace

template <>
void install(ChannelNorm<float>& kernels) {
    fill(kernels);
}

template <>
void install(ChannelNorm<double>& kernels) {
    fill(kernels);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
