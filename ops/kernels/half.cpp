// Compiled once per ISA.
#include <tapestry/core/philox.h>
#include <tapestry/ops/kernels/half.h>
#include <tapestry/ops/kernels/half_vector.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

void widen(float* y, const Bf16* x, std::int64_t n, std::int64_t ahead) {
    widen_run(y, reinterpret_cast<const std::uint16_t*>(x), n, ahead);
}

void narrow(Bf16* y, const float* x, std::int64_t n) {
    narrow_run(reinterpret_cast<std::uint16_t*>(y), x, n);
}

void widen_rows(float* y, const Bf16* x, std::int64_t row, std::int64_t count, std::int64_t n) {
    constexpr std::int64_t kRowsAhead = 8;
    const auto* from = reinterpret_cast<const std::uint16_t*>(x);
    for (std::int64_t i = 0; i < count; ++i, y += n, from += row) {
        widen_run(y, from, n, kRowsAhead * row);
    }
}

void narrow_rows(Bf16* y, std::int64_t row, const float* x, std::int64_t count, std::int64_t n) {
    auto* to = reinterpret_cast<std::uint16_t*>(y);
    for (std::int64_t i = 0; i < count; ++i, to += row, x += n) narrow_run(to, x, n);
}

void narrow_by_chance(Bf16* y, const float* x, const std::uint16_t* chance, std::int64_t n) {
    narrow_run_by_chance(reinterpret_cast<std::uint16_t*>(y), x, chance, n);
}

constexpr int kBlocks = 16;  // computed together; each has the words of two elements

// For elements [2 block, 2 block + 2 kBlocks).
void draw_tile(std::uint16_t (&to)[kChances][2 * kBlocks], std::uint64_t key, std::uint64_t block) {
    PhiloxBlocks<kBlocks> x = philox_counters<kBlocks>(block);
    scramble(x, key);
    for (int i = 0; i < kBlocks; ++i) {
        for (int second = 0; second < 2; ++second) {
            const std::uint32_t a = x.word[2 * second][i], b = x.word[2 * second + 1][i];
            to[0][2 * i + second] = static_cast<std::uint16_t>(a);
            to[1][2 * i + second] = static_cast<std::uint16_t>(a >> 16U);
            to[2][2 * i + second] = static_cast<std::uint16_t>(b);
        }
    }
}

void chances(std::uint16_t* const (&to)[kChances], const Draw& draw, std::int64_t n) {
    std::uint16_t tile[kChances][2 * kBlocks];
    std::uint64_t block = draw.first / 2;
    auto skipped = static_cast<std::int64_t>(draw.first % 2);  // 1 if draw begins within a block
    for (std::int64_t at = 0; at < n; block += kBlocks, skipped = 0) {
        draw_tile(tile, draw.key, block);
        const std::int64_t left = n - at, room = 2 * kBlocks - skipped;
        const std::int64_t count = left < room ? left : room;
        for (int k = 0; k < kChances; ++k) {
            __builtin_memcpy(to[k] + at, tile[k] + skipped, 2 * static_cast<std::size_t>(count));
        }
        at += count;
    }
}

}  // namespace

template <>
void install(Half& kernels) {
    kernels = {widen, narrow, widen_rows, narrow_rows, narrow_by_chance, chances};
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
