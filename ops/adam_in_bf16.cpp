#include <tapestry/ops/adam_in_bf16.h>

#include <tapestry/ops/kernels/table.h>

#include <algorithm>

namespace tapestry {

void adam_by_chance(Bf16* p, Bf16* m, Bf16* v, const Bf16* g, std::int64_t n,
                    const kernels::AdamStep<float>& step, kernels::Draw draw) {
    constexpr std::int64_t kBlock = 512;  // what the first cache holds
    enum { kP, kM, kV, kG, kRows };
    alignas(64) float wide[kRows][kBlock];
    alignas(64) std::uint16_t drawn[kernels::kChances][kBlock];
    const auto& table = kernels::table<float>();
    for (std::int64_t at = 0; at < n; at += kBlock) {
        const std::int64_t count = std::min(kBlock, n - at);
        const Bf16* const from[kRows] = {p + at, m + at, v + at, g + at};
        for (int k = 0; k < kRows; ++k) table.half.widen(wide[k], from[k], count, count);
        table.optimizer_step.adam(wide[kP], wide[kM], wide[kV], wide[kG], count, step);
        table.half.chances({drawn[kP], drawn[kM], drawn[kV]}, draw, count);
        Bf16* const to[kernels::kChances] = {p + at, m + at, v + at};
        for (int k = 0; k < kernels::kChances; ++k) {
            table.half.narrow_by_chance(to[k], wide[k], drawn[k], count);
        }
        draw.first += static_cast<std::uint64_t>(count);
    }
}

}  // namespace tapestry
