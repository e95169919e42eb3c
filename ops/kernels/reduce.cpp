// Compiled once per ISA. The loops over columns; those over a row are in reduce_row.h.
#include <tapestry/ops/kernels/reduce.h>
#include <tapestry/ops/kernels/reduce_row.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

template <class F, class T>
void reduce_rows(T* y, const T* x, std::int64_t rows, std::int64_t n) {
    const Plain<T> map{F::template kIdentity<T>};
    for (std::int64_t r = 0; r < rows; ++r) y[r] = reduce_row<F>(x + r * n, n, map);
}

// kVectors columns wide, four rows at a time: sums stay in registers from the first row to the
// last. Four rows are first added in pairs, which also quarters the rounding error.
template <class F, int kVectors, class T, class Load, class Store>
void reduce_strip(std::int64_t rows, const Load& load_at, const Store& store_at) {
    Batch<T> acc[kVectors];
    for (Batch<T>& a : acc) a = Batch<T>(F::template kIdentity<T>);
    std::int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        for (int v = 0; v < kVectors; ++v) {
            const Batch<T> first = F::combine(load_at(i, v), load_at(i + 1, v));
            const Batch<T> second = F::combine(load_at(i + 2, v), load_at(i + 3, v));
            acc[v] = F::combine(acc[v], F::combine(first, second));
        }
    }
    for (; i < rows; ++i) {
        for (int v = 0; v < kVectors; ++v) acc[v] = F::combine(acc[v], load_at(i, v));
    }
    for (int v = 0; v < kVectors; ++v) store_at(v, acc[v]);
}

template <class F, class T>
void reduce_columns(T* y, const T* x, std::int64_t rows, std::int64_t stride, std::int64_t n) {
    constexpr std::int64_t kStep = kLanes<T>;
    std::int64_t j = 0;
    const auto load_at = [&](std::int64_t i, int v) {
        return load(x + i * stride + j + v * kStep);
    };
    const auto store_at = [&](int v, const Batch<T>& a) { store(y + j + v * kStep, a); };
    for (; j + 4 * kStep <= n; j += 4 * kStep) reduce_strip<F, 4, T>(rows, load_at, store_at);
    for (; j + kStep <= n; j += kStep) reduce_strip<F, 1, T>(rows, load_at, store_at);
    if (j == n) return;
    reduce_strip<F, 1, T>(
        rows, [&](std::int64_t i, int) { return load_partial(x + i * stride + j, n - j); },
        [&](int, const Batch<T>& a) { store_partial(y + j, a, n - j); });
}

template <class T>
void logsumexp_rows(T* y, const T* x, std::int64_t rows, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r) y[r] = row_logsumexp(x + r * n, n);
}

// xsimd cannot widen floats to doubles; the compilers' vector extensions can.
constexpr std::int64_t kWidth = kLanes<double>;
using Wide __attribute__((vector_size(kWidth * 8))) = double;

template <class T>
double sum_of_squares(const T* x, std::int64_t n) {
    using Narrow __attribute__((vector_size(kWidth * sizeof(T)))) = T;
    Wide acc[4] = {};
    std::int64_t i = 0;
    for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
        for (int k = 0; k < 4; ++k) {
            Narrow narrow;
            __builtin_memcpy(&narrow, x + i + k * kWidth, sizeof narrow);
            const Wide wide = __builtin_convertvector(narrow, Wide);
            acc[k] += wide * wide;
        }
    }
    const Wide all = (acc[0] + acc[1]) + (acc[2] + acc[3]);
    double sum = 0;
    for (std::int64_t lane = 0; lane < kWidth; ++lane) sum += all[lane];
    for (; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return sum;
}

template <class T>
void fill(Reduce<T>& kernels) {
    kernels.sum = {reduce_rows<SumReducer, T>, reduce_columns<SumReducer, T>};
    kernels.max = {reduce_rows<MaxReducer, T>, reduce_columns<MaxReducer, T>};
    kernels.min = {reduce_rows<MinReducer, T>, reduce_columns<MinReducer, T>};
    kernels.logsumexp = logsumexp_rows<T>;
    kernels.sum_of_squares = sum_of_squares<T>;
}

}  // namespace

template <>
void install(Reduce<float>& kernels) {
    fill(kernels);
}

template <>
void install(Reduce<double>& kernels) {
    fill(kernels);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
