// Compiled once per ISA. The mean is subtracted before squaring, so a large mean costs no
// precision; this reads the row again, mostly from L1 or L2.
#include <tapestry/ops/kernels/norm.h>
#include <tapestry/ops/kernels/reduce_row.h>
#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

// avg(map(x)) over all segments.
template <class T, class Map>
T average(const T* x, const Segments& row, const Map& map) {
    double sum = 0;
    for (std::int64_t s = 0; s < row.count; ++s, x += row.stride) {
        sum += static_cast<double>(reduce_row<SumReducer>(x, row.length, map));
    }
    return static_cast<T>(sum / static_cast<double>(row.count * row.length));
}

template <class T>
T reciprocal_root(T x) {
    return (Batch<T>(T(1)) / sqrt(Batch<T>(x))).get(0);
}

template <class T>
void forward(T* y, T* mean, T* variance, const T* x, const T* weight, const T* bias, T eps,
             const Segments& row) {
    *mean = average(x, row, Plain<T>{T(0)});
    *variance = average(x, row, SquaredDistance<T>(*mean));
    const Batch<T> centre(*mean);
    const Batch<T> scale(reciprocal_root(*variance + eps));
    for (std::int64_t s = 0; s < row.count; ++s, x += row.stride, y += row.stride) {
        const Batch<T> w(weight[s * row.weight_step]);
        const Batch<T> b(bias[s * row.weight_step]);
        for_each_vector<T>(row.length, [&](std::int64_t i, const auto& part) {
            part.put(y + i, fma((part.get(x + i) - centre) * scale, w, b));
        });
    }
}

// sum g and sum g u of one segment.
template <class T>
void add_up(double& sum_g, double& sum_gu, const T* g, const T* x, const Batch<T>& centre,
            const Batch<T>& scale, std::int64_t n) {
    Batch<T> of_g(T(0));
    Batch<T> of_gu(T(0));
    for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
        const Batch<T> grad = part.get(g + i);  // 0 in the unused lanes of a tail
        of_g = of_g + grad;
        of_gu = fma(grad, (part.get(x + i) - centre) * scale, of_gu);
    });
    sum_g = static_cast<double>(reduce_add<T>(of_g));
    sum_gu = static_cast<double>(reduce_add<T>(of_gu));
}

template <class T>
void backward(T* dx, T* dweight, T* dbias, const T* g, const T* x, const T* weight, T mean,
              T variance, T eps, const Segments& row) {
    const Batch<T> centre(mean);
    const Batch<T> scale(reciprocal_root(variance + eps));
    double all_g = 0, all_gu = 0, all_h = 0, all_hu = 0;
    for (std::int64_t s = 0; s < row.count; ++s) {
        double sum_g = 0, sum_gu = 0;
        add_up(sum_g, sum_gu, g + s * row.stride, x + s * row.stride, centre, scale, row.length);
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
            const Batch<T> u = (part.get(x + i) - centre) * scale;
            const Batch<T> h = rounded<T>(part.get(g + i) * w);
            part.put(dx + i, scale * (h - avg_h - u * avg_hu));
        });
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
