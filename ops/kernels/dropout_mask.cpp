// Compiled once per ISA.
#include <tapestry/core/philox.h>
#include <tapestry/ops/kernels/dropout_mask.h>
#include <tapestry/ops/kernels/simd.h>

#include <bit>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

constexpr int kBlocks = 16;  // counters computed together
constexpr std::int64_t kTile = 4 * kBlocks;

// The four comparisons of a counter as four bytes, in the order of its words.
void draw_tile(bool* kept, std::uint64_t key, std::uint64_t first, std::uint32_t limit) {
    static_assert(std::endian::native == std::endian::little && sizeof(bool) == 1);
    PhiloxBlocks<kBlocks> x = philox_counters<kBlocks>(first);
    scramble(x, key);
    std::uint32_t answers[kBlocks];
    for (int i = 0; i < kBlocks; ++i) {
        const auto below = [&](int k) { return x.word[k][i] < limit ? 1U : 0U; };
        answers[i] = below(0) | below(1) << 8U | below(2) << 16U | below(3) << 24U;
    }
    __builtin_memcpy(kept, answers, sizeof(answers));
}

void draw(bool* kept, std::uint64_t key, std::uint64_t first, std::uint32_t limit, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + kTile <= n; i += kTile, first += kBlocks) draw_tile(kept + i, key, first, limit);
    if (i == n) return;
    bool last[kTile];
    draw_tile(last, key, first, limit);
    __builtin_memcpy(kept + i, last, static_cast<std::size_t>(n - i));
}

}  // namespace

template <>
void install(DropoutMask& kernels) {
    kernels = {draw};
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
