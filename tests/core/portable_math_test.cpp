// The library's logarithm, sines and powers: their errors, and that every compiler and processor
// gives the same bits.
#include <tapestry/core/checksum.h>
#include <tapestry/core/portable_math.h>
#include <tapestry/core/random.h>
#include <tapestry/tests/core/support.h>
#include <tapestry/tests/skip.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

using namespace tapestry;

namespace {

// Is long double more precise, and do its functions use that? (The browser's C library computes
// them in double.)
#if defined(__wasm__)
constexpr bool kHasTruth = false;
#else
constexpr bool kHasTruth = std::numeric_limits<long double>::digits >= 64;
#endif

// The error in units of the last place.
double units(double found, long double truth) {
    const int exponent = std::max(std::ilogb(static_cast<double>(truth)), -1022);
    const long double unit = std::ldexp(1.0L, exponent - 52);
    return static_cast<double>(std::abs(static_cast<long double>(found) - truth) / unit);
}

// The largest error over arguments drawn by `draw`.
template <class F, class Truth, class Draw>
double worst(const F& f, const Truth& truth, const Draw& draw) {
    Generator generator(5);
    double most = 0;
    for (int i = 0; i < 100'000; ++i) {
        const double x = draw(generator);
        most = std::max(most, units(f(x), truth(static_cast<long double>(x))));
    }
    return most;
}

double unit(Generator& g) { return 1 - g.uniform(); }
double wide(Generator& g) { return std::ldexp(unit(g), static_cast<int>(g.below(2000)) - 1000); }
double turn(Generator& g) { return 2 * std::numbers::pi * g.uniform(); }
double far(Generator& g) { return 2e5 * g.uniform() - 1e5; }

}  // namespace

TEST_CASE("portable math: below 0.8 units in the last place") {
    if (!kHasTruth) return test::skip("no long double here is better than a double");
    const auto log_of = [](long double x) { return std::log(x); };
    const auto sin_of = [](long double x) { return std::sin(x); };
    const auto cos_of = [](long double x) { return std::cos(x); };
    const auto sin = [](double x) { return portable::sin_cos(x).sin; };
    CHECK_LT(worst(portable::log, log_of, unit), 0.8);
    CHECK_LT(worst(portable::log, log_of, wide), 0.8);
    CHECK_LT(worst(portable::cos, cos_of, turn), 0.8);
    CHECK_LT(worst(portable::cos, cos_of, far), 0.8);
    CHECK_LT(worst(sin, sin_of, turn), 0.8);
    CHECK_LT(worst(sin, sin_of, far), 0.8);
    for (const double beta : {0.9, 0.95, 0.99, 0.999, 0.9999}) {
        CAPTURE(beta);
        long double truth = 1;  // its error grows with every factor, which limits n
        for (std::int64_t n = 0; n < 500; ++n, truth *= static_cast<long double>(beta)) {
            CHECK_LT(units(portable::pow(beta, n), truth), 0.8);
        }
    }
}

TEST_CASE("portable math: what is exact") {
    CHECK_EQ(portable::log(1), 0);
    CHECK_EQ(portable::log(2), std::numbers::ln2);
    CHECK_EQ(portable::log(5e-324), -744.4400719213812);
    CHECK_EQ(portable::cos(0), 1);
    CHECK_EQ(portable::sin_cos(0).sin, 0);
    CHECK_EQ(portable::cos(std::numbers::pi), -1);
    CHECK_EQ(portable::cos(std::numbers::pi / 2), 6.123233995736766e-17);
    CHECK_EQ(portable::pow(0, 0), 1);
    CHECK_EQ(portable::pow(0, 3), 0);
    CHECK_EQ(portable::pow(0.9, 1), 0.9);
    CHECK_EQ(portable::pow(0.5, 30), 0x1p-30);
    CHECK_EQ(portable::pow(1, std::int64_t{1} << 40), 1);
    CHECK_EQ(portable::pow(0.9, std::int64_t{1} << 40), 0);
}

// A digest of many results, the same under g++ and clang, on x86-64, AArch64 and WebAssembly.
TEST_CASE("portable math: the same bits everywhere") {
    Generator generator(6);
    Checksum checksum;
    const auto add = [&](double x) {
        const auto bits = std::bit_cast<std::uint64_t>(x);
        checksum.add(std::as_bytes(std::span(&bits, 1)));
    };
    for (int i = 0; i < 20'000; ++i) {
        add(portable::log(unit(generator)));
        const auto [sin, cos] = portable::sin_cos(far(generator));
        add(sin);
        add(cos);
        add(portable::pow(unit(generator), i % 100));
    }
    CHECK_EQ(checksum.hex(), "da749fc6a06d8a54cfaffd7ec6659dd9");
}

TEST_CASE("portable math: normal numbers are the same everywhere") {
    Generator generator(7);
    const Tensor x = randn({100'000}, generator);
    Checksum checksum;
    checksum.add(std::as_bytes(std::span(x.data<float>(), 100'000)));
    CHECK_EQ(checksum.hex(), "e8bcb4b15e1d24b95b7da2b9890d34da");
}
