// Compiled once per ISA. In integers, for a bf16 is the upper half of an f32. The compilers' own
// vectors, for xsimd has none of 16 bits beside those of 32.
#include <tapestry/ops/kernels/half.h>
#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

constexpr std::int64_t kWidth = kLanes<float>;
using Words __attribute__((vector_size(kWidth * 4))) = std::uint32_t;
using Signed __attribute__((vector_size(kWidth * 4))) = std::int32_t;
using Shorts __attribute__((vector_size(kWidth * 2))) = std::uint16_t;

Words widened(const Shorts& x) { return __builtin_convertvector(x, Words) << 16U; }

// Half a step, less a little where the last bit that stays is 0, carries into it from whatever lies
// beyond the middle. A NaN would be carried into infinity, or beyond: it becomes quiet instead.
Shorts narrowed(const Words& x) {
    const Words rounded = x + 0x7fffU + (x >> 16U & 1U);
    const Signed size = reinterpret_cast<Signed>(x & 0x7fffffffU);
    const Words nan = reinterpret_cast<Words>(size > 0x7f800000);
    const Words kept = (nan & (x | 0x400000U)) | (~nan & rounded);
    return __builtin_convertvector(kept >> 16U, Shorts);
}

void widen(float* y, const Bf16* numbers, std::int64_t n) {
    const auto* x = reinterpret_cast<const unsigned char*>(numbers);
    std::int64_t i = 0;
    for (; i < n; i += kWidth) {
        const auto count = static_cast<std::size_t>(n - i < kWidth ? n - i : kWidth);
        Shorts in = {};
        if (count == kWidth) {
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
    for (; i < n; i += kWidth) {
        const auto count = static_cast<std::size_t>(n - i < kWidth ? n - i : kWidth);
        Words in = {};
        if (count == kWidth) {
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
