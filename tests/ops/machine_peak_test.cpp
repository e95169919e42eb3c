// The measuring kernels compute what they claim, on every instruction set, and measured rates are
// plausible.
#include <tapestry/core/cpu.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/storage.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/machine_peak.h>
#include <tapestry/tests/core/support.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

using namespace tapestry;

namespace {

// f(T{}) on every instruction set, in f32 and f64.
template <class F>
void on_all(F&& f) {
    const Isa before = current_isa();
    for (const Isa isa : available_isas()) {
        set_isa(isa);
        INFO(name_of(isa));
        f(float{});
        f(double{});
    }
    set_isa(before);
}

}  // namespace

TEST_CASE("peak: every chain takes every multiply-add, in every lane") {
    on_all([](auto zero) {
        using T = decltype(zero);
        const auto& kernels = kernels::table<T>().peak;
        // Each lane of chain i has i, then f i + a, then f (f i + a) + a, ...
        const auto sum_of = [&](std::int64_t chains, std::int64_t rounds, double factor) {
            double sum = 0;
            for (std::int64_t i = 0; i < chains; ++i) {
                auto x = static_cast<double>(i);
                for (std::int64_t r = 0; r < rounds; ++r) x = factor * x + 3;
                sum += x;
            }
            return sum * static_cast<double>(kernels.multiply_adds / chains);
        };
        // The number of chains follows from their initial values, 0, 1, 2, ...
        const double untouched = kernels.multiply_add(0, T(1), T(0));
        const std::int64_t chains = untouched == sum_of(24, 0, 1) ? 24 : 12;
        CHECK_EQ(untouched, sum_of(chains, 0, 1));
        CHECK_EQ(kernels.multiply_adds % chains, 0);
        for (const std::int64_t rounds : {1, 2, 5}) {
            for (const double factor : {1.0, 0.5}) {
                CHECK_EQ(kernels.multiply_add(rounds, static_cast<T>(factor), T(3)),
                         sum_of(chains, rounds, factor));
            }
        }
    });
}

TEST_CASE("peak: products of bf16 are those of the instruction for them, all of a panel's") {
    const Isa before = current_isa();
    for (const Isa isa : available_isas()) {
        set_isa(isa);
        INFO(name_of(isa));
        const kernels::HalfGemm& half = kernels::table<float>().half_gemm;
        if (half.by_instruction == nullptr) {
            CHECK((half.repeat_panel == nullptr));
            continue;
        }
        // 32 x 32 numbers, each the sum of `depth` products of 1.
        const std::int64_t depth = half.panel_multiply_adds / (32 * 32);
        CHECK_EQ(half.panel_multiply_adds % (32 * 32), 0);
        CHECK_EQ(half.repeat_panel(0), 0);
        CHECK_EQ(half.repeat_panel(1500), static_cast<float>(1500 * depth));
    }
    set_isa(before);
}

TEST_CASE("peak: update and read take every number once, tails included") {
    on_all([](auto zero) {
        using T = decltype(zero);
        const auto& kernels = kernels::table<T>().peak;
        for (const std::int64_t n : {0, 1, 7, 16, 127, 128, 129, 1000}) {
            std::vector<T> x(static_cast<std::size_t>(n) + 1);
            for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i);
            CHECK_EQ(kernels.read(x.data(), n), static_cast<T>(n * (n - 1) / 2));
            kernels.update(x.data(), n, T(2), T(1));
            for (std::size_t i = 0; i + 1 < x.size(); ++i) {
                CHECK_EQ(x[i], static_cast<T>(2 * i + 1));
            }
            CHECK_EQ(x.back(), static_cast<T>(n));  // past the end
        }
    });
}

TEST_CASE("peak: measured rates are rates, and memory is the slowest") {
    const std::size_t before = memory_statistics().current;
    for (const int threads : {1, 2, 8}) {
        const ThreadsGuard guard(threads);
        const MachinePeak peak = measure_peak();
        CHECK(std::isfinite(peak.flops_per_second));
        CHECK_GT(peak.flops_per_second, 1e6);
        REQUIRE_GE(peak.levels.size(), 2);
        CHECK_GT(peak.levels.back().bytes_per_second, 1e6);
        for (std::size_t i = 1; i < peak.levels.size(); ++i) {
            CHECK_GT(peak.levels[i].bytes, peak.levels[i - 1].bytes);
            CHECK_LE(peak.levels[i].bytes_per_second, peak.levels[i - 1].bytes_per_second);
        }
    }
    CHECK_GT(measure_reading(1), 1e6);
    CHECK_GT(measure_reading(1000000), 1e6);
    CHECK_EQ(memory_statistics().current, before);
    CHECK_GT(measure_flops(DType::f64, 0.001), 1e6);
    CHECK_GT(measure_flops(DType::bf16, 0.001), 1e6);
    CHECK_EQ(measure_peak(DType::bf16).dtype, DType::bf16);
    CHECK_THROWS_WITH_AS(measure_flops(DType::i64),
                         "measure_flops: needs f32, f64 or bf16, got i64", DTypeError);
}

TEST_CASE("peak: more threads than cores give no more, nor does a loop around") {
    const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const auto rate = [](int threads) {
        const ThreadsGuard guard(threads);
        return measure_flops(DType::f32, 0.005);
    };
    const double many = rate(4 * cores);
    double one = 0;  // the best of several, because other programs may use the core
    for (int i = 0; i < 500 && many >= 2.5 * cores * one; ++i) one = std::max(one, rate(1));
    CHECK_LT(many, 2.5 * cores * one);
    // Inside a chunk of another loop both parts run on one thread, without a deadlock.
    std::vector<double> inside(2);
    parallel_for_chunks(2, [&](std::int64_t i) {
        inside[static_cast<std::size_t>(i)] = measure_flops(DType::f32, 0.001);
    });
    CHECK_GT(inside[0], 1e6);
    CHECK_GT(inside[1], 1e6);
}

TEST_CASE("peak: one chain of scalars, which waits for each result, stays far below it") {
    constexpr int kRounds = 1000000;
    double x = 2;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kRounds; ++i) x = x * 0.999 + 0.001;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    CHECK_EQ(x, doctest::Approx(1));
    const double scalar = 2.0 * kRounds / taken.count();
    double flops = 0;  // the best of several, because other programs may use the core
    for (int i = 0; i < 50 && flops <= scalar; ++i) {
        flops = std::max(flops, measure_flops(DType::f64, 0.02));
    }
    CHECK_GT(flops, scalar);
}
