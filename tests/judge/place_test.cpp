// Where is a large gradient wrong? One entry, several, an entry of an op on a tape, and an op that
// modifies a gradient shared with others.
#include <tapestry/autograd/check/plain.h>
#include <tapestry/tests/judge/support.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace tapestry;
using test::contains;
using test::random;
using test::verdict_of;
using Plain = std::vector<double>;

namespace {

constexpr std::size_t kMany = 5000;
constexpr std::uint64_t kCases = 20;

double value(const Plain& x) {
    double sum = 0;
    for (const double a : x) sum += std::sin(a) * a;
    return sum;
}

Plain slopes(const Plain& x) {
    Plain g;
    for (const double a : x) g.push_back(std::cos(a) * a + std::sin(a));
    return g;
}

std::size_t drawn_place(std::uint64_t seed) {
    Generator generator(seed);
    const double u = uniform({1}, 0, 1, generator, DType::f64).item<double>();
    return static_cast<std::size_t>(u * static_cast<double>(kMany));
}

GradcheckReport check_with(const Plain& x, const std::vector<std::size_t>& places, double factor,
                           int& calls) {
    calls = 0;
    const auto counted = [&calls](const Plain& at) {
        ++calls;
        return value(at);
    };
    const auto spoilt = [&](const Plain& at) {
        Plain g = slopes(at);
        for (const std::size_t place : places) g[place] *= factor;
        return g;
    };
    return check_gradient(counted, spoilt, x);
}

}  // namespace

TEST_CASE("place: the one wrong entry of many, in few evaluations") {
    std::uint64_t found = 0;
    int calls = 0;
    const std::uint64_t cases = test::is_short() ? 4 : kCases;
    for (std::uint64_t seed = 1; seed <= cases; ++seed) {
        const Plain x = test::values(random({static_cast<std::int64_t>(kMany)}, seed));
        const std::size_t place = drawn_place(seed);
        const double factor = std::array{0.0, -1.0, 1.1, 2.0}[seed % 4];
        const GradcheckReport report = check_with(x, {place}, factor, calls);
        CHECK_EQ(verdict_of(report), "FAIL");
        CHECK_LT(calls, 400);
        const bool here = report.inputs[0].wrong == 1 && report.inputs[0].first_wrong == place;
        REQUIRE(report.first_wrong);
        if (!here) continue;
        ++found;
        const std::string at = fmt::format("at [{}]", place);
        CHECK_EQ(report.inputs[0].worst.where, at);
        CHECK_EQ(report.first_wrong->slope.where, at);
        CHECK_EQ(to_string(report.first_wrong->cause.mistake), to_string(Mistake::partial));
        CHECK(contains(to_string(report), "1 entry is wrong, the first " + at));
    }
    CHECK_GE(found, cases - 1);
}

TEST_CASE("place: an entry that is NaN or infinite, and how many are") {
    const Plain x = test::values(random({300}, 3));
    for (const double bad : {std::nan(""), HUGE_VAL}) {
        CAPTURE(bad);
        const auto spoilt = [bad](const Plain& at) {
            Plain g = slopes(at);
            g[123] = g[299] = bad;
            return g;
        };
        for (const GradcheckOptions& options : {GradcheckOptions{}, {.eps = 1e-6}}) {
            const GradcheckReport report = check_gradient(value, spoilt, x, options);
            CHECK_EQ(verdict_of(report), "FAIL");
            CHECK_EQ(report.inputs[0].worst.where, "at [123]");
            CHECK_EQ(report.inputs[0].wrong, 2);
            CHECK_EQ(report.inputs[0].first_wrong, 123);
            CHECK(contains(to_string(report), "at least 2 entries are wrong, the first at [123]"));
        }
    }
}

TEST_CASE("place: of several wrong entries the first, and how many were seen") {
    const Plain x = test::values(random({static_cast<std::int64_t>(kMany)}));
    int calls = 0;
    const GradcheckReport two = check_with(x, {700, 3900}, 1.5, calls);
    CHECK_EQ(two.inputs[0].wrong, 2);
    CHECK_EQ(two.inputs[0].first_wrong, 700);
    CHECK(contains(to_string(two), "at least 2 entries are wrong, the first at [700]"));
    std::vector<std::size_t> all(kMany);
    for (std::size_t i = 0; i < kMany; ++i) all[i] = i;
    const GradcheckReport every = check_with(x, all, 1.5, calls);
    CHECK_LT(every.inputs[0].first_wrong, 10);
    CHECK_GT(every.inputs[0].wrong, static_cast<int>(kMany) / 4);
    CHECK_EQ(to_string(every.first_wrong->cause.mistake), to_string(Mistake::factor));
    const GradcheckReport few = check_gradient(
        value,
        [](const Plain& at) {
            Plain g = slopes(at);
            g[2] = g[5] = 0;
            return g;
        },
        Plain(x.begin(), x.begin() + 8));
    CHECK_EQ(few.inputs[0].wrong, 2);
    CHECK(contains(to_string(few), "; 2 entries are wrong, the first at [2]"));
}

TEST_CASE("place: of an op on a tape") {
    for (std::uint64_t seed = 1; seed <= (test::is_short() ? 1 : 6); ++seed) {
        const std::size_t place = drawn_place(100 + seed);
        const auto f = [place](const Tensors& in) {
            const Tensor y = test::with_rule(
                in[0] * 1.5, [](const Tensor& t) { return sin(t); },
                [place](const Tensor& g, const Tensor& t) {
                    Plain values = test::values(g * cos(t));
                    values[place] *= 1.25;
                    return Tensors{tensor(values, t.shape())};
                });
            return sum(square(y));
        };
        const GradcheckReport report = gradcheck(f, {random({50, 100}, seed)});
        CHECK_EQ(verdict_of(report), "FAIL");
        REQUIRE(report.first_wrong);
        const auto row = static_cast<std::int64_t>(place / 100);
        const auto column = static_cast<std::int64_t>(place % 100);
        CHECK_EQ(report.first_wrong->op, "rule");
        CHECK_EQ(report.first_wrong->slope.where, fmt::format("at {}", Shape{row, column}));
        CHECK_EQ(report.inputs[0].first_wrong, place);
    }
}

// Adding so many numbers rounds: f is about 6e4, and the effect of one entry is far below its
// rounding error.
TEST_CASE("place: in a sum of sixty thousand, one entry, or all by a thousandth") {
    constexpr std::size_t kPlace = 30007;
    Plain x;
    for (int i = 0; i < 60000; ++i) x.push_back(1.3 * std::sin(0.37 * i + 1));
    int calls = 0;
    const auto chain = [&calls](const Plain& at) {
        ++calls;
        double sum = 0;
        for (std::size_t i = 1; i < at.size(); ++i) {
            const double apart = at[i] - at[i - 1] * at[i - 1];
            sum += apart * apart;
        }
        return sum;
    };
    const auto slopes_of_chain = [](const Plain& at) {
        Plain g(at.size());
        for (std::size_t i = 1; i < at.size(); ++i) {
            const double apart = at[i] - at[i - 1] * at[i - 1];
            g[i] += 2 * apart;
            g[i - 1] -= 4 * apart * at[i - 1];
        }
        return g;
    };
    const GradcheckReport one = check_gradient(
        chain,
        [&](const Plain& at) {
            Plain g = slopes_of_chain(at);
            g[kPlace] *= 1.5;
            return g;
        },
        x);
    CHECK_EQ(verdict_of(one), "FAIL");
    CHECK_EQ(one.inputs[0].wrong, 1);
    CHECK_EQ(one.inputs[0].first_wrong, kPlace);
    REQUIRE(one.first_wrong);
    CHECK(contains(one.first_wrong->cause.evidence, "1 of 16 elements are wrong"));
    CHECK_LT(calls, 560);  // a direction along which errors nearly cancel is followed by another
    calls = 0;
    const GradcheckReport all = check_gradient(
        chain,
        [&](const Plain& at) {
            Plain g = slopes_of_chain(at);
            for (double& slope : g) slope *= 1.001;
            return g;
        },
        x);
    CHECK_EQ(verdict_of(all), "FAIL");
    REQUIRE(all.first_wrong);
    CHECK_EQ(to_string(all.first_wrong->cause.mistake), to_string(Mistake::factor));
    CHECK_LT(calls, 400);
}

TEST_CASE("place: many right numbers of a function that rounds are not wrong anywhere") {
    const auto rounded = [](const Plain& x) {
        char text[64];
        std::snprintf(text, sizeof text, "%.7g", value(x));
        return std::strtod(text, nullptr);
    };
    const auto in_f32 = [](const Plain& x) {
        float sum = 0;
        for (const double a : x) sum += std::sin(static_cast<float>(a)) * static_cast<float>(a);
        return static_cast<double>(sum);
    };
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const Plain x = test::values(random({1000}, seed));
        CHECK_NE(check_gradient(rounded, slopes, x).verdict, Verdict::fail);
        CHECK_NE(check_gradient(in_f32, slopes, x).verdict, Verdict::fail);
    }
}

TEST_CASE("place: an op that overwrites the gradient it was handed is the one to blame") {
    // The value has two uses, which share one gradient.
    const auto f = [](const Tensors& in) {
        const Tensor t = tanh(in[0]);
        const Tensor y = test::with_rule(
            t, [](const Tensor& a) { return sin(a); },
            [](const Tensor& g, const Tensor& a) {
                const Tensor right = g * cos(a);
                auto* p = const_cast<double*>(g.data<double>());
                for (std::int64_t i = 0; i < g.numel(); ++i) p[i] *= 3;
                return Tensors{right};
            });
        return exp(y + t);
    };
    for (const std::int64_t n : {4, 300}) {
        const GradcheckReport report = gradcheck(f, {random({n})});
        CHECK_EQ(verdict_of(report), "FAIL");
        REQUIRE(report.first_wrong);
        CHECK_EQ(report.first_wrong->op, "rule");
        CHECK_EQ(report.first_wrong->number, 1);
        CHECK_EQ(to_string(report.first_wrong->cause.mistake), to_string(Mistake::overwrites));
        CHECK(contains(report.first_wrong->cause.evidence, "after the rule has run"));
    }
}

TEST_CASE("place: a right gradient of very many entries passes in few evaluations") {
    // In sums of so many terms f rounds more coarsely than its last bit shows.
    const auto mean_of_squares = [](const Plain& x) {
        double sum = 0;
        for (const double a : x) sum += a * a;
        return sum / static_cast<double>(x.size());
    };
    const auto gradient = [](const Plain& x) {
        Plain slopes;
        for (const double a : x) slopes.push_back(2 * a / static_cast<double>(x.size()));
        return slopes;
    };
    const auto evaluations = [&](std::size_t n) {
        Generator generator(5);
        const Tensor numbers =
            uniform({static_cast<std::int64_t>(n)}, -2, 2, generator, DType::f64);
        const Plain x = test::values(numbers);
        const auto report = check_gradient(mean_of_squares, gradient, x);
        CHECK_EQ(report.verdict, Verdict::pass);
        return report.runs;
    };
    CHECK_LE(evaluations(1000), 200);
    CHECK_LE(evaluations(10000), 200);
    CHECK_LE(evaluations(100000), 600);
}
