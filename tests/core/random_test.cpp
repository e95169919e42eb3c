// Random numbers: published Philox test vectors, the shape of each distribution (with fixed seeds,
// so no test fails by chance), and the same bits for any number of threads.
#include <tapestry/core/generator_log.h>
#include <tapestry/tests/core/support.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

using namespace tapestry;
using tapestry::ThreadsGuard;
using tapestry::test::check_throws;

namespace {

constexpr std::int64_t kMany = 100'000;

// The largest distance between the empirical distribution and `cdf`, times sqrt(n) (Kolmogorov and
// Smirnov): exceeds 1.95 with probability 0.001.
template <class Cdf>
double kolmogorov(const Tensor& x, Cdf&& cdf) {
    std::vector<double> values = x.to_vector<double>();
    std::sort(values.begin(), values.end());
    const auto n = static_cast<double>(values.size());
    double distance = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double p = cdf(values[i]);
        distance = std::max(
            {distance, p - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - p});
    }
    return distance * std::sqrt(n);
}

double normal_cdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

// E x^k
double moment(const Tensor& x, int k) {
    double sum = 0;
    for (const double value : x.to_vector<double>()) sum += std::pow(value, k);
    return sum / static_cast<double>(x.numel());
}

double chi_squared(const std::vector<double>& counts, double expected) {
    double sum = 0;
    for (const double count : counts) sum += (count - expected) * (count - expected) / expected;
    return sum;
}

// Every distribution, and the number of elements per counter.
struct Draw {
    const char* name;
    std::ptrdiff_t per_counter;
    Tensor (*draw)(const Shape&, Generator&);
};

const Draw kDraws[] = {
    {"rand", 4, [](const Shape& s, Generator& g) { return rand(s, g); }},
    {"rand f64", 2, [](const Shape& s, Generator& g) { return rand(s, g, DType::f64); }},
    {"uniform", 4, [](const Shape& s, Generator& g) { return uniform(s, -3, 2, g); }},
    {"randn", 4, [](const Shape& s, Generator& g) { return randn(s, g); }},
    {"randn f64", 2, [](const Shape& s, Generator& g) { return randn(s, g, DType::f64); }},
    {"normal", 4, [](const Shape& s, Generator& g) { return normal(s, 5, 2, g); }},
    {"bernoulli", 4, [](const Shape& s, Generator& g) { return bernoulli(s, 0.3, g); }},
    {"randint", 2, [](const Shape& s, Generator& g) { return randint(-9, 17, s, g); }},
};

}  // namespace

TEST_CASE("random: Philox4x32-10, known answers") {
    // kat_vectors of the authors' Random123 library; the third has digits of pi.
    using Block = std::array<std::uint32_t, 4>;
    constexpr std::uint32_t kOnes = 0xffffffff;
    CHECK(philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
          Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random: numbers are made from the words as documented") {
    Generator generator(0);
    CHECK(rand({5}, generator).to_vector<double>()[3] == 0x9b00db * 0x1p-24);
    CHECK(generator.offset() == 2);
    generator.set_state(0, 0);
    CHECK(rand({2}, generator, DType::f64).at({0}) ==
          static_cast<double>(0xe169c58d6627e8d5 >> 11) * 0x1p-53);
    CHECK(generator.offset() == 1);
    generator.set_state(0, 0);
    CHECK(generator.next() == 0xe169c58d6627e8d5);
    generator.set_state(0xffffffffffffffff, 0x0123456789abcdef);
    const auto words = philox({0x89abcdef, 0x01234567, 0, 0}, {0xffffffff, 0xffffffff});
    CHECK(rand({1}, generator).item() == (words[0] >> 8) * 0x1p-24);
    CHECK(generator.offset() == 0x0123456789abcdf0);
}

TEST_CASE("random: an element depends on seed, offset and its number alone") {
    for (const Draw& of : kDraws) {
        CAPTURE(of.name);
        Generator generator(42);
        const std::vector<double> all = of.draw({1000}, generator).to_vector<double>();
        for (const std::int64_t n : {0, 1, 2, 3, 5, 63, 64, 65, 130}) {
            generator.set_state(42, 0);
            CHECK(of.draw({n}, generator).to_vector<double>() ==
                  std::vector<double>(all.begin(), all.begin() + n));
        }
        generator.set_state(42, 0);
        CHECK(of.draw({10, 1, 100}, generator).to_vector<double>() == all);
        generator.set_state(42, 3);  // skips three counters
        const std::vector<double> later = of.draw({100}, generator).to_vector<double>();
        const std::ptrdiff_t shift = 3 * of.per_counter;
        CHECK(std::equal(later.begin(), later.end(), all.begin() + shift));
    }
}

TEST_CASE("random: the same bits for any number of threads") {
    for (const Draw& of : kDraws) {
        CAPTURE(of.name);
        std::vector<double> first;
        for (int threads = 1; threads <= 4; ++threads) {
            const ThreadsGuard guard(threads);
            Generator generator(7);
            const auto values = of.draw({kMany + 13}, generator).to_vector<double>();
            if (threads == 1) first = values;
            CHECK(values == first);
        }
    }
}

TEST_CASE("random: state saved and restored; seeds and draws differ") {
    Generator a(1);
    rand({10}, a);
    const auto offset = a.offset();
    Generator copy = a;
    const auto expected = randn({9}, a).to_vector<double>();
    CHECK(randn({9}, copy).to_vector<double>() == expected);
    Generator b(99);
    b.set_state(a.seed(), offset);
    CHECK(b.seed() == 1);
    CHECK(randn({9}, b).to_vector<double>() == expected);
    CHECK(randn({9}, b).to_vector<double>() != expected);
    Generator other(2);
    other.set_state(2, offset);
    CHECK(randn({9}, other).to_vector<double>() != expected);
    const auto before = a.offset();
    rand({0}, a);
    randperm(0, a);
    CHECK(a.offset() == before);  // no draws, no counters used
}

TEST_CASE("random: the default generator") {
    const Generator saved = default_generator();
    manual_seed(5);
    const auto first = rand({3}).to_vector<double>();
    CHECK(randn({3}).numel() == 3);
    manual_seed(5);
    CHECK(default_generator().offset() == 0);
    CHECK(rand({3}).to_vector<double>() == first);
    default_generator() = saved;
}

TEST_CASE("random: rand is uniform in [0, 1)") {
    for (const DType dtype : {DType::f32, DType::f64}) {
        Generator generator(17);
        const Tensor x = rand({kMany}, generator, dtype);
        CHECK(x.dtype() == dtype);
        CHECK(kolmogorov(x, [](double v) { return v; }) < 1.95);
        CHECK(moment(x, 1) == doctest::Approx(0.5).epsilon(0.01));
        CHECK(moment(x, 2) == doctest::Approx(1.0 / 3).epsilon(0.01));
        const auto values = x.to_vector<double>();
        CHECK(*std::min_element(values.begin(), values.end()) >= 0);
        CHECK(*std::max_element(values.begin(), values.end()) < 1);
        double lag = 0;  // neighbours are independent
        for (std::size_t i = 1; i < values.size(); ++i) {
            lag += (values[i] - 0.5) * (values[i - 1] - 0.5);
        }
        CHECK(std::abs(lag / kMany) < 4 / 12.0 / std::sqrt(kMany));
    }
}

TEST_CASE("random: uniform keeps to [low, high) even where rounding would reach high") {
    Generator generator(18);
    const Tensor x = uniform({kMany}, -3, 5, generator);
    CHECK(kolmogorov(x, [](double v) { return (v + 3) / 8; }) < 1.95);
    const Tensor narrow = uniform({1000}, 1, 1 + 0x1p-23, generator);  // neighbours in f32
    CHECK(narrow.to_vector<float>() == std::vector<float>(1000, 1));
    const Tensor far = uniform({kMany}, 1e8, 1e8 + 32, generator);
    for (const double v : far.to_vector<double>()) {
        if (v < 1e8 || v >= 1e8 + 32) FAIL_CHECK(v);
    }
    CHECK(uniform({2}, -1e300, 1e300, generator, DType::f64).numel() == 2);
}

TEST_CASE("random: randn is normal and finite") {
    for (const DType dtype : {DType::f32, DType::f64}) {
        Generator generator(19);
        const Tensor x = randn({kMany}, generator, dtype);
        CHECK(x.dtype() == dtype);
        CHECK(kolmogorov(x, normal_cdf) < 1.95);
        CHECK(std::abs(moment(x, 1)) < 0.01);
        CHECK(moment(x, 2) == doctest::Approx(1).epsilon(0.015));
        CHECK(std::abs(moment(x, 3)) < 0.03);
        CHECK(moment(x, 4) == doctest::Approx(3).epsilon(0.03));
        for (const double v : x.to_vector<double>()) {
            if (!std::isfinite(v)) FAIL_CHECK(v);
        }
    }
    Generator generator(20);
    const Tensor y = normal({kMany}, -2, 0.5, generator);
    CHECK(kolmogorov(y, [](double v) { return normal_cdf((v + 2) / 0.5); }) < 1.95);
    CHECK(normal({4}, 3, 0, generator).to_vector<double>() == std::vector<double>(4, 3));
    CHECK(randn({3}, generator).numel() == 3);  // an odd number: half of a pair is unused
}

TEST_CASE("random: the two of a Box-Muller pair are independent") {
    Generator generator(23);
    const auto x = randn({2 * kMany}, generator, DType::f64).to_vector<double>();
    double product = 0;
    double squares = 0;
    for (std::size_t i = 0; i < x.size(); i += 2) {
        product += x[i] * x[i + 1];
        squares += (x[i] * x[i] - 1) * (x[i + 1] * x[i + 1] - 1);
    }
    CHECK(std::abs(product / kMany) < 0.013);
    CHECK(std::abs(squares / kMany) < 0.026);
}

TEST_CASE("random: bernoulli") {
    Generator generator(24);
    const Tensor x = bernoulli({kMany}, 0.3, generator);
    CHECK(x.dtype() == DType::boolean);
    CHECK(moment(x, 1) == doctest::Approx(0.3).epsilon(0.015));
    CHECK(moment(bernoulli({1000}, 0, generator), 1) == 0);
    CHECK(moment(bernoulli({1000}, 1, generator), 1) == 1);
}

TEST_CASE("random: randint has no bias") {
    Generator generator(25);
    const Tensor dice = randint(1, 7, {60'000}, generator);
    CHECK(dice.dtype() == DType::i64);
    std::vector<double> counts(6, 0);
    for (const auto v : dice.to_vector<std::int64_t>()) {
        REQUIRE((v >= 1 && v <= 6));
        ++counts[static_cast<std::size_t>(v - 1)];
    }
    CHECK(chi_squared(counts, 10'000) < 20.5);  // 5 degrees of freedom: p = 0.001
    // 3 * 2^62 values from 2^64 words: without repeating draws, floor(x * 3 / 4) would give every
    // third value twice as often as the others.
    constexpr std::int64_t kLow = -3 * (std::int64_t{1} << 61);
    counts.assign(3, 0);
    for (const auto v : randint(kLow, -kLow, {30'000}, generator).to_vector<std::int64_t>()) {
        ++counts[(static_cast<std::uint64_t>(v) - static_cast<std::uint64_t>(kLow)) % 3];
    }
    CHECK(chi_squared(counts, 10'000) < 13.9);
    CHECK(randint(5, 6, {9}, generator).to_vector<double>() == std::vector<double>(9, 5));
    using I64 = std::numeric_limits<std::int64_t>;
    CHECK(std::abs(moment(randint(I64::min(), I64::max(), {10'000}, generator), 1)) < 0x1p58);
}

TEST_CASE("random: randperm, every order equally likely") {
    Generator generator(26);
    std::map<std::vector<std::int64_t>, double> seen;
    for (int i = 0; i < 24'000; ++i) ++seen[randperm(4, generator).to_vector<std::int64_t>()];
    CHECK(seen.size() == 24);
    std::vector<double> counts;
    for (const auto& [order, count] : seen) counts.push_back(count);
    CHECK(chi_squared(counts, 1000) < 49.7);  // 23 degrees of freedom: p = 0.001
    for (const std::int64_t n : {0, 1, 2, 1000}) {
        auto order = randperm(n, generator).to_vector<std::int64_t>();
        std::sort(order.begin(), order.end());
        CHECK(order == arange(n).to_vector<std::int64_t>());
    }
}

TEST_CASE("random: scalar draws") {
    Generator generator(27);
    double sum = 0;
    std::vector<double> counts(7, 0);
    for (int i = 0; i < 70'000; ++i) {
        const double u = generator.uniform();
        REQUIRE((u >= 0 && u < 1));
        sum += u;
        ++counts[generator.below(7)];
    }
    CHECK(sum / 70'000 == doctest::Approx(0.5).epsilon(0.01));
    CHECK(chi_squared(counts, 10'000) < 22.5);
    CHECK(generator.offset() == 140'000);
    CHECK(generator.below(1) == 0);
}

TEST_CASE("random: like another tensor, the numbers are those of rand and randn") {
    const Tensor x = zeros({3, 50}, DType::f64);
    Generator a(5);
    Generator b(5);
    CHECK(rand_like(x, a).to_vector<double>() == rand({3, 50}, b, DType::f64).to_vector<double>());
    CHECK(randn_like(x, a).to_vector<double>() ==
          randn({3, 50}, b, DType::f64).to_vector<double>());
    check_throws<DTypeError>([&] { rand_like(arange(3), a); },
                             "rand_like: needs f32 or f64, got i64");
    check_throws<DTypeError>([&] { randn_like(arange(3), a); },
                             "randn_like: needs f32 or f64, got i64");
}

TEST_CASE("random: errors") {
    Generator g(1);
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    constexpr double kInf = std::numeric_limits<double>::infinity();
    check_throws<DTypeError>([&] { rand({2}, g, DType::i64); }, "rand: needs f32 or f64, got i64");
    check_throws<DTypeError>([&] { randn({2}, g, DType::boolean); },
                             "randn: needs f32 or f64, got bool");
    check_throws<ValueError>([&] { uniform({2}, 1, 1, g); },
                             "uniform: [1, 1) is empty or infinite in f32");
    check_throws<ValueError>([&] { uniform({2}, 2, 1, g); },
                             "uniform: [2, 1) is empty or infinite in f32");
    check_throws<ValueError>([&] { uniform({2}, 0, 1e300, g); },
                             "uniform: [0, 1e+300) is empty or infinite in f32");
    check_throws<ValueError>([&] { uniform({2}, kNan, 1, g, DType::f64); },
                             "uniform: [nan, 1) is empty or infinite in f64");
    check_throws<ValueError>([&] { uniform({2}, -1.5e308, 1.5e308, g, DType::f64); },
                             "uniform: [-1.5e+308, 1.5e+308) is empty or infinite in f64");
    check_throws<ValueError>([&] { normal({2}, kInf, 1, g); },
                             "normal: the mean must be finite, got inf in f32");
    check_throws<ValueError>([&] { normal({2}, 1e300, 1, g); },
                             "normal: the mean must be finite, got 1e+300 in f32");
    check_throws<ValueError>(
        [&] { normal({2}, 0, -1, g); },
        "normal: the standard deviation must be finite and >= 0, got -1 in f32");
    check_throws<ValueError>(
        [&] { normal({2}, 0, kNan, g); },
        "normal: the standard deviation must be finite and >= 0, got nan in f32");
    for (const double p : {-0.1, 1.1, kNan}) {
        check_throws<ValueError>([&] { bernoulli({2}, p, g); },
                                 fmt::format("bernoulli: p must be in [0, 1], got {}", p));
    }
    check_throws<ValueError>([&] { randint(3, 3, {2}, g); }, "randint: [3, 3) is empty");
    check_throws<ValueError>([&] { randperm(-1, g); }, "randperm: n must be >= 0, got -1");
    check_throws<ValueError>([&] { g.below(0); }, "below: the bound must be positive, got 0");
    check_throws<ShapeError>([&] { rand({-1}, g); }, "shape: negative size in [-1]");
    CHECK(g.offset() == 0);  // an error uses no counters
}

TEST_CASE("generator log: first states, inner and outer, and the dead forgotten") {
    Generator a(1), b(2);
    a.next();
    const GeneratorLog outer;
    b.next();
    {
        const GeneratorLog inner;
        a.next();
        a.next();
        b.set_state(9, 9);
        { Generator(5).next(); }
        REQUIRE_EQ(inner.states().size(), 2);
        CHECK_EQ(inner.states()[0].generator, &a);
        CHECK_EQ(inner.states()[0].offset, 1);
        CHECK_EQ(inner.states()[1].offset, 1);
    }
    REQUIRE_EQ(outer.states().size(), 2);
    CHECK_EQ(outer.states()[0].generator, &b);
    CHECK_EQ(outer.states()[0].seed, 2);
    CHECK_EQ(outer.states()[0].offset, 0);
    CHECK_EQ(outer.states()[1].offset, 1);
}
