// Compiled once per ISA.
#include <tapestry/ops/kernels/half.h>
#include <tapestry/ops/kernels/half_vector.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

void widen(float* y, const Bf16* numbers, std::int64_t n) {
    const auto* x = reinterpret_cast<const unsigned char*>(numbers);
    std::int64_t i = 0;
    for (; i < n; i += kHalfWidth) {
        const auto count = static_cast<std::size_t>(n - i < kHalfWidth ? n - i : kHalfWidth);
        Shorts in = {};
        if (count == kHalfWidth) {
            __builtin_memcpy(&in, x + 2 * i, sizeof in);
            const Words out = widened(in);
            __builtin_memcpy(y + i, &out, sizeof out);
        } else {
            __builtin_memcpy(&in, x + 2 * i, 2 * count);
            const Words out = widened(in);
            __builtin_memcpy(y + i, &out, 4 * count);
        }
    }
}

void narrow(Bf16* numbers, const float* x, std::int64_t n) {
    auto* y = reinterpret_cast<unsigned char*>(numbers);
    std::int64_t i = 0;
    for (; i < n; i += kHalfWidth) {
        const auto count = static_cast<std::size_t>(n - i < kHalfWidth ? n - i : kHalfWidth);
        Words in = {};
        if (count == kHalfWidth) {
            __builtin_memcpy(&in, x + i, sizeof in);
            const Shorts out = narrowed(in);
            __builtin_memcpy(y + 2 * i, &out, sizeof out);
        } else {
            __builtin_memcpy(&in, x + i, 4 * count);
            const Shorts out = narrowed(in);
            __builtin_memcpy(y + 2 * i, &out, 2 * count);
        }
    }
}

}  // namespace

template <>
void install(Half& kernels) {
    kernels = {widen, narrow};
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
