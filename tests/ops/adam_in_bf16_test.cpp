// Adam on 16-bit numbers with stochastic rounding, against its definition, on every ISA.
#include <doctest/doctest.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/core/half.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/random.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/optimizer_step.h>

#include <utility>
#include <vector>

using namespace tapestry;

namespace {

// The f32 step, whose kernel it uses, with each number rounded as defined.
void check_adam_of_bf16(std::int64_t n, const AdamUpdate& update) {
    Generator generator(9);
    const auto drawn = [&](double scale) {
        return cast(normal({n}, 0, scale, generator), DType::bf16);
    };
    Tensor p = drawn(1), m = drawn(0.1), v = cast(rand({n}, generator), DType::bf16);
    const Tensor g = drawn(0.1);
    Tensor wide[] = {cast(p, DType::f32).clone(), cast(m, DType::f32).clone(),
                     cast(v, DType::f32).clone()};
    Tensor parts[] = {p.clone(), m.clone(), v.clone()};
    adamw_update_(wide[0], cast(g, DType::f32), wide[1], wide[2], update);
    adamw_update_(p, g, m, v, update);
    int wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const auto e = static_cast<std::uint64_t>(i + update.first);
        const auto words = philox({static_cast<std::uint32_t>(e / 2), 0, 0, 0},
                                  {static_cast<std::uint32_t>(update.rounding_key),
                                   static_cast<std::uint32_t>(update.rounding_key >> 32U)});
        const std::uint32_t a = words[2 * (e % 2)], b = words[2 * (e % 2) + 1];
        const std::uint32_t chances[] = {a & 0xffffU, a >> 16U, b & 0xffffU};
        const Tensor* const got[] = {&p, &m, &v};
        for (int k = 0; k < 3; ++k) {
            const float exact = wide[k].data<float>()[i];
            const auto chance = static_cast<std::uint16_t>(chances[k]);
            wrong += got[k]->data<Bf16>()[i].bits == bf16_bits_by_chance(exact, chance) ? 0 : 1;
        }
    }
    CHECK_EQ(wrong, 0);
    if (n < 100) return;
    // Split at an arbitrary place, as slices are, and on two threads.
    const ThreadsGuard guard(2);
    const std::int64_t cut = n / 3;
    RecycledVector<AdamParameter> both;
    for (const auto& [begin, end] : {std::pair{cut, n}, std::pair{std::int64_t{0}, cut}}) {
        const auto part = [begin = begin, end = end](const Tensor& x) {
            return views::slice(x, 0, begin, end);
        };
        both.push_back({part(parts[0]), part(g), part(parts[1]), part(parts[2]), update});
        both.back().update.first += begin;
    }
    adamw_update_(both);
    const Tensor* const whole[] = {&p, &m, &v};
    for (int k = 0; k < 3; ++k) CHECK(parts[k].to_vector<float>() == whole[k]->to_vector<float>());
}

}  // namespace

TEST_CASE("adamw_update_: bf16 is the step of f32, rounded by chance, whole or in parts") {
    const Isa isa_before = current_isa();
    for (const Isa isa : available_isas()) {
        set_isa(isa);
        CAPTURE(name_of(isa));
        for (const std::int64_t n : {0, 1, 7, 515, 20'001}) {
            check_adam_of_bf16(n, {.rounding_key = 0x123456789abcdef0U});
            check_adam_of_bf16(n, {.lr = 0.01,
                                   .weight_decay = 0.1,
                                   .step = 5,
                                   .decoupled = false,
                                   .grad_scale = 0.25,
                                   .rounding_key = 3,
                                   .first = 77});
        }
    }
    set_isa(isa_before);
}

TEST_CASE("adamw_update_: what a weight of bf16 cannot hold arrives in the mean") {
    constexpr std::int64_t kNumbers = 20'000, kSteps = 100;
    Tensor p = ones({kNumbers}, DType::bf16), m = zeros({kNumbers}, DType::bf16);
    Tensor v = zeros({kNumbers}, DType::bf16);
    const Tensor g = ones({kNumbers}, DType::bf16);
    // Changes of 1e-4; the next number below 1 is 0.0039 away.
    for (std::int64_t t = 1; t <= kSteps; ++t) {
        adamw_update_(p, g, m, v,
                      {.lr = 1e-4, .step = t, .rounding_key = static_cast<std::uint64_t>(t)});
    }
    double sum = 0;
    for (const double x : p.to_vector<double>()) sum += x;
    CHECK(sum / kNumbers == doctest::Approx(1 - 1e-4 * kSteps).epsilon(3e-4));
    Tensor f16 = ones({3}, DType::f16), f16_m = zeros({3}, DType::f16), f16_v = f16_m.clone();
    CHECK_THROWS_AS(adamw_update_(f16, ones({3}, DType::f16), f16_m, f16_v, {}), DTypeError);
}

TEST_CASE("sums of squares and scale_: numbers of 16 bits, in f32") {
    Generator generator(3);
    for (const DType dtype : {DType::bf16, DType::f16}) {
        const Tensor x = cast(randn({3, 7001}, generator), dtype);
        CHECK_EQ(sums_of_squares({x}), sums_of_squares({cast(x, DType::f32)}));
        for (Tensor part : {x.clone(), views::transpose(x.clone(), 0, 1)}) {
            Tensor wide = cast(part, DType::f32).clone();
            scale_(wide, 0.3);
            scale_(part, 0.3);
            CHECK(part.to_vector<float>() == cast(wide, dtype).to_vector<float>());
        }
    }
}
