// Compiled once per ISA.
#include <tapestry/ops/kernels/reduce_row.h>
#include <tapestry/ops/kernels/simd.h>
#include <tapestry/ops/kernels/softmax.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

template <class T>
using Rows = typename CrossEntropy<T>::Rows;

template <class T>
void forward(T* loss, T* lse, const Rows<T>& rows, std::int64_t begin, std::int64_t end) {
    const std::int64_t n = rows.classes;
    for (std::int64_t r = begin; r < end; ++r) {
        loss[r] = T(0);
        lse[r] = T(0);
        if (rows.target[r] == rows.ignored) continue;
        const T* x = rows.x + r * n;
        lse[r] = row_logsumexp(x, n);
        const T hit = x[rows.target[r]];
        loss[r] = lse[r] - hit;
        if (rows.smoothing != T(0)) {  // s (x[target] - avg(x)): the part of label smoothing
            loss[r] += rows.smoothing * (hit - row_sum(x, n) / static_cast<T>(n));
        }
    }
}

template <class T>
void backward(T* dx, const T* lse, const T* g, std::int64_t g_step, T scale, const Rows<T>& rows,
              std::int64_t begin, std::int64_t end) {
    const std::int64_t n = rows.classes;
    for (std::int64_t r = begin; r < end; ++r) {
        T* const to = dx + r * n;
        if (rows.target[r] == rows.ignored) {
            for_each_vector<T>(
                n, [&](std::int64_t i, const auto& part) { part.put(to + i, Batch<T>(T(0))); });
            continue;
        }
        const T* const x = rows.x + r * n;
        const std::int64_t hit = rows.target[r];
        const T at_hit = x[hit];  // before the loop, which may overwrite it
        const T factor = g[r * g_step] * scale;
        const Batch<T> times(factor);
        const Batch<T> shift(lse[r]);
        const Batch<T> spread(rows.smoothing / static_cast<T>(n));
        for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
            part.put(to + i, (exp(part.get(x + i) - shift) - spread) * times);
        });
        // Recomputed for the target as one product: a difference of two products would leave
        // rounding errors where the gradient is 0.
        const Batch<T> rest(T(1) - rows.smoothing);
        to[hit] = ((exp(Batch<T>(at_hit) - shift) - spread - rest) * times).get(0);
    }
}

template <class T>
void fill(CrossEntropy<T>& kernels) {
    kernels.forward = forward<T>;
    kernels.backward = backward<T>;
}

}  // namespace

template <>
void install(CrossEntropy<float>& kernels) {
    fill(kernels);
}

template <>
void install(CrossEntropy<double>& kernels) {
    fill(kernels);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
