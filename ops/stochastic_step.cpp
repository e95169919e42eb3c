#include <tapestry/ops/stochastic_step.h>

#include <tapestry/ops/kernels/table.h>

#include <algorithm>

namespace tapestry {

namespace {
constexpr std::int64_t kStepBlock = 512;  // fits in L1
}

void adam_by_chance(Bf16* p, Bf16* m, Bf16* v, const Bf16* g, std::int64_t n,
                    const kernels::AdamStep<float>& step, kernels::Draw draw) {
    enum { kP, kM, kV, kG, kRows };
    alignas(64) float wide[kRows][kStepBlock];
    alignas(64) std::uint16_t drawn[kernels::kChances][kStepBlock];
    const auto& table = kernels::table<float>();
    for (std::int64_t at = 0; at < n; at += kStepBlock) {
        const std::int64_t count = std::min(kStepBlock, n - at);
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

void sgd_by_chance(Bf16* p, Bf16* b, const Bf16* g, std::int64_t n,
                   const kernels::SgdStep<float>& step, kernels::Draw draw) {
    enum { kP, kB, kG, kRows };
    alignas(64) float wide[kRows][kStepBlock];
    alignas(64) std::uint16_t drawn[kernels::kChances][kStepBlock];
    const auto& table = kernels::table<float>();
    for (std::int64_t at = 0; at < n; at += kStepBlock) {
        const std::int64_t count = std::min(kStepBlock, n - at);
        table.half.widen(wide[kP], p + at, count, count);
        if (b != nullptr) table.half.widen(wide[kB], b + at, count, count);
        table.half.widen(wide[kG], g + at, count, count);
        table.optimizer_step.sgd(wide[kP], b == nullptr ? nullptr : wide[kB], wide[kG], count,
                                 step);
        table.half.chances({drawn[0], drawn[1], drawn[2]}, draw, count);
        table.half.narrow_by_chance(p + at, wide[kP], drawn[kP], count);
        if (b != nullptr) table.half.narrow_by_chance(b + at, wide[kB], drawn[kB], count);
        draw.first += static_cast<std::uint64_t>(count);
    }
}

}  // namespace tapestry
