#include <tapestry/ops/keep.h>

#include <tapestry/core/loop.h>
#include <tapestry/ops/kernels/table.h>

#include <cmath>

namespace tapestry {

Tensor drawn_to_keep(const Shape& shape, double p, Generator& generator) {
    constexpr std::int64_t kWords = 4;  // of a counter
    const auto limit = static_cast<std::uint64_t>(std::round((1 - p) * 0x1p32));
    if (limit >> 32U != 0) return bernoulli(shape, 1 - p, generator);  // all of them
    Tensor kept(shape, DType::boolean);
    const std::int64_t n = kept.numel();
    const std::uint64_t key = generator.seed();
    const std::uint64_t first =
        generator.take(static_cast<std::uint64_t>((n + kWords - 1) / kWords));
    bool* const to = kept.mutable_data<bool>();
    const auto draw = kernels::table<float>().kept.draw;
    static_assert(kGrain % kWords == 0, "a piece begins with a counter");
    parallel_for(n, kGrain, [=](std::int64_t begin, std::int64_t end) {
        draw(to + begin, key, first + static_cast<std::uint64_t>(begin / kWords),
             static_cast<std::uint32_t>(limit), end - begin);
    });
    return kept;
}

}  // namespace tapestry
