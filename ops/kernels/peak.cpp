// Compiled once per ISA.
//
// A fused multiply-add takes about 4 cycles, and two can start per cycle: a single chain x <- f
// x + a measures the latency, 8 to 10 parallel chains the throughput. More do no harm while all
// stay in registers, two of which hold f and a: 24 of 32, 12 of 16.
#include <tapestry/ops/kernels/peak.h>
#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

#if defined(__AVX512BW__) || defined(__aarch64__)
constexpr int kChains = 24;
#else
constexpr int kChains = 12;
#endif

template <class T>
T multiply_add(std::int64_t rounds, T factor, T addend) {
    const Batch<T> f(factor);
    const Batch<T> a(addend);
    Batch<T> x[kChains];
#pragma GCC unroll 24
    for (int i = 0; i < kChains; ++i) x[i] = Batch<T>(static_cast<T>(i));
    for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
        for (int i = 0; i < kChains; ++i) x[i] = fma(x[i], f, a);
    }
    Batch<T> sum = x[0];
#pragma GCC unroll 24
    for (int i = 1; i < kChains; ++i) sum = sum + x[i];
    return reduce_add<T>(sum);
}

template <class T>
void update(T* x, std::int64_t n, T factor, T addend) {
    const Batch<T> f(factor);
    const Batch<T> a(addend);
    for_each_vector<T>(
        n, [&](std::int64_t i, const auto& part) { part.put(x + i, fma(part.get(x + i), f, a)); });
}

// Eight sums: with fewer, the latency of additions would be the limit, not memory.
template <class T>
T read(const T* x, std::int64_t n) {
    constexpr int kSums = 8;
    Batch<T> sums[kSums];
#pragma GCC unroll 8
    for (int s = 0; s < kSums; ++s) sums[s] = Batch<T>(T(0));
    std::int64_t i = 0;
    for (; i + kSums * kLanes<T> <= n; i += kSums * kLanes<T>) {
#pragma GCC unroll 8
        for (int s = 0; s < kSums; ++s) sums[s] = sums[s] + load(x + i + s * kLanes<T>);
    }
    for_each_vector<T>(
        n - i, [&](std::int64_t j, const auto& part) { sums[0] = sums[0] + part.get(x + i + j); });
#pragma GCC unroll 8
    for (int s = 1; s < kSums; ++s) sums[0] = sums[0] + sums[s];
    return reduce_add<T>(sums[0]);
}

template <class T>
void fill(Peak<T>& kernels) {
    kernels.multiply_adds = kChains * kLanes<T>;
    kernels.multiply_add = multiply_add<T>;
    kernels.update = update<T>;
    kernels.read = read<T>;
}

}  // namespace

template <>
void install(Peak<float>& kernels) {
    fill(kernels);
}

template <>
void install(Peak<double>& kernels) {
    fill(kernels);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
