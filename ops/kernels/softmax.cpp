// Compiled once per ISA. Three passes over a row (maximum, exponentials and their sum, scaling);
// the last two read it from L1.
#include <tapestry/ops/kernels/reduce_row.h>
#include <tapestry/ops/kernels/simd.h>
#include <tapestry/ops/kernels/softmax.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

// y[i] = exp(x[i] - shift); returns their sum. Sums in blocks, so long rows do not lose precision.
template <class T>
T exponentials(T* y, const T* x, std::int64_t n, T shift) {
    const ShiftedExp<T> exponential(shift);
    T total = T(0);
    for (std::int64_t begin = 0; begin < n; begin += kBlock<T>) {
        Batch<T> sum(T(0));
        const std::int64_t length = n - begin < kBlock<T> ? n - begin : kBlock<T>;
        for_each_vector<T>(length, [&](std::int64_t i, const auto& part) {
            const Batch<T> e = exponential(part.get(x + begin + i, exponential.fill));
            part.put(y + begin + i, e);
            sum = sum + e;
        });
        total += reduce_add<T>(sum);
    }
    return total;
}

// sum_i a[i] b[i]
template <class T>
T dot(const T* a, const T* b, std::int64_t n) {
    T total = T(0);
    for (std::int64_t begin = 0; begin < n; begin += kBlock<T>) {
        Batch<T> sum(T(0));
        const std::int64_t length = n - begin < kBlock<T> ? n - begin : kBlock<T>;
        for_each_vector<T>(length, [&](std::int64_t i, const auto& part) {
            sum = fma(part.get(a + begin + i), part.get(b + begin + i), sum);
        });
        total += reduce_add<T>(sum);
    }
    return total;
}

template <class T>
void softmax(T* y, const T* x, std::int64_t rows, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r, y += n, x += n) {
        const T total = exponentials(y, x, n, softmax_shift(x, n));
        const Batch<T> scale(total == T(0) ? T(0) : T(1) / total);
        for_each_vector<T>(
            n, [&](std::int64_t i, const auto& part) { part.put(y + i, part.get(y + i) * scale); });
    }
}

template <class T>
void log_softmax(T* y, const T* x, std::int64_t rows, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r, y += n, x += n) {
        const T shift = softmax_shift(x, n);
        const T total = reduce_row<SumReducer>(x, n, ShiftedExp<T>(shift));
        const Batch<T> largest(shift);
        const Batch<T> log_total(total == T(0) ? T(0) : scalar_log(total));
        for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
            part.put(y + i, part.get(x + i) - largest - log_total);
        });
    }
}

template <class T>
void softmax_backward(T* dx, const T* y, const T* g, std::int64_t rows, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r, dx += n, y += n, g += n) {
        const Batch<T> mean(dot(y, g, n));  // mean of g under the distribution y
        for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
            part.put(dx + i, part.get(y + i) * (part.get(g + i) - mean));
        });
    }
}

template <class T>
void log_softmax_backward(T* dx, const T* y, const T* g, std::int64_t rows, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r, dx += n, y += n, g += n) {
        const Batch<T> total(row_sum(g, n));
        for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
            part.put(dx + i, part.get(g + i) - exp(part.get(y + i)) * total);
        });
    }
}

template <class T>
void fill(Softmax<T>& kernels) {
    kernels.softmax = softmax<T>;
    kernels.log_softmax = log_softmax<T>;
    kernels.softmax_backward = softmax_backward<T>;
    kernels.log_softmax_backward = log_softmax_backward<T>;
}

}  // namespace

template <>
void install(Softmax<float>& kernels) {
    fill(kernels);
}

template <>
void install(Softmax<double>& kernels) {
    fill(kernels);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
