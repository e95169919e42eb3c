// Gradients of functions whose numbers are stored in f32, bf16 or f16: right rules never fail, and
// faults that are visible in the format do.
//
// TAPESTRY_FORMATS=10000 sets the number of rules per format (.ci/long formats).
#include <tapestry/core/create.h>
#include <tapestry/tests/judge/plain_cases.h>
#include <tapestry/tests/skip.h>

#include <algorithm>

using namespace tapestry;
using namespace tapestry::test;

namespace {

struct Rule {
    const char* name;
    PlainVectorFunction f;
    PlainPullback pullback;
};

// y_i = f(x_i)
Rule each(const char* name, double (*f)(double), double (*slope)(double)) {
    return {name,
            [f](const Plain& x) {
                Plain y;
                for (const double a : x) y.push_back(f(a));
                return y;
            },
            [slope](const Plain& x, const Plain& g) {
                Plain dx;
                for (std::size_t i = 0; i < x.size(); ++i) dx.push_back(g[i] * slope(x[i]));
                return dx;
            }};
}

Plain softmax_of(const Plain& x) {
    Plain y;
    double sum = 0;
    for (const double a : x) sum += std::exp(a);
    for (const double a : x) y.push_back(std::exp(a) / sum);
    return y;
}

Plain softmax_back(const Plain& x, const Plain& g) {
    const Plain y = softmax_of(x);
    const double mean = std::inner_product(y.begin(), y.end(), g.begin(), 0.0);
    Plain dx;
    for (std::size_t i = 0; i < y.size(); ++i) dx.push_back(y[i] * (g[i] - mean));
    return dx;
}

// x / |x|
Plain normalised(const Plain& x) {
    const double size = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
    Plain y;
    for (const double a : x) y.push_back(a / size);
    return y;
}

Plain normalised_back(const Plain& x, const Plain& g) {
    const double size = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
    const Plain y = normalised(x);
    const double along = std::inner_product(y.begin(), y.end(), g.begin(), 0.0);
    Plain dx;
    for (std::size_t i = 0; i < y.size(); ++i) dx.push_back((g[i] - y[i] * along) / size);
    return dx;
}

// The products of neighbours, and the sum of squares.
Plain products(const Plain& x) {
    Plain y;
    for (std::size_t i = 0; i + 1 < x.size(); ++i) y.push_back(x[i] * x[i + 1]);
    y.push_back(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
    return y;
}

Plain products_back(const Plain& x, const Plain& g) {
    Plain dx(x.size(), 0.0);
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
        dx[i] += g[i] * x[i + 1];
        dx[i + 1] += g[i] * x[i];
    }
    for (std::size_t i = 0; i < x.size(); ++i) dx[i] += 2 * g.back() * x[i];
    return dx;
}

std::vector<Rule> rules() {
    return {
        each(
            "sin", [](double x) { return std::sin(x); }, [](double x) { return std::cos(x); }),
        each(
            "exp", [](double x) { return std::exp(x); }, [](double x) { return std::exp(x); }),
        each(
            "tanh", [](double x) { return std::tanh(x); },
            [](double x) { return 1 - std::tanh(x) * std::tanh(x); }),
        each(
            "cube", [](double x) { return x * x * x; }, [](double x) { return 3 * x * x; }),
        each(
            "root", [](double x) { return std::sqrt(std::abs(x)); },
            [](double x) { return 0.5 / std::sqrt(std::abs(x)) * (x < 0 ? -1 : 1); }),
        each(
            "reciprocal", [](double x) { return 1 / x; }, [](double x) { return -1 / (x * x); }),
        each(
            "scaled", [](double x) { return 3 * x - 1; }, [](double) { return 3.0; }),
        {"softmax", softmax_of, softmax_back},
        {"normalised", normalised, normalised_back},
        {"products", products, products_back}};
}

// A rule at a random point, its gradient rounded to the format; possibly with a fault.
struct Drawn {
    Rule rule;
    Plain x;
    std::uint64_t number = 0;

    GradcheckReport check(Format format, double fault = 0) const {
        const auto stored = [&](const Plain& at, const Plain& g) {
            Plain dx = rule.pullback(at, g);
            dx[number % dx.size()] *= 1 + fault;
            for (double& slope : dx) slope = rounded(format, slope);
            return dx;
        };
        return check_pullback(rule.f, stored, x, {.format = format, .seed = number + 1});
    }
};

Drawn drawn_rule(std::uint64_t number) {
    const std::vector<Rule> all = rules();
    const std::size_t n = 1 + number / all.size() % 4;
    Plain x = drawn(7000 + number, n, 0.3, 2);
    const Plain signs = drawn(9000 + number, n, -1, 1);
    for (std::size_t i = 0; i < n; ++i) x[i] *= signs[i] < 0 ? -1 : 1;
    const std::string name = all[number % all.size()].name;
    if ((name == "normalised" || name == "softmax") && n == 1) x.push_back(1);  // else constant
    return {all[number % all.size()], x, number};
}

std::uint64_t how_many() {
    const char* asked = std::getenv("TAPESTRY_FORMATS");
    if (asked == nullptr) return is_short() ? 5 : 20;
    return std::strtoull(asked, nullptr, 10);
}

}  // namespace

TEST_CASE("format: right rules never fail below f64, and faults that it can show do") {
    struct Expected {
        Format format;
        std::uint64_t least;  // minimum percentage of right rules that pass
    };
    for (const auto& [format, least] :
         {Expected{Format::f32, 99}, {Format::bf16, 80}, {Format::f16, 79}}) {
        const std::string name(to_string(format));
        CAPTURE(name);
        std::uint64_t passed = 0, failed = 0, faults = 0, caught = 0;
        double coarsest = 0;
        for (std::uint64_t number = 0; number < how_many(); ++number) {
            const Drawn one = drawn_rule(number);
            const GradcheckReport right = one.check(format);
            if (right.verdict == Verdict::fail) {
                ++failed;
                INFO(std::string(one.rule.name) << " " << number << "\n" << to_string(right));
                CHECK(false);
            }
            if (right.verdict != Verdict::pass) continue;
            ++passed;
            coarsest = std::max(coarsest, right.resolution);
            const double fault = 8 * std::max(right.resolution, epsilon(format));
            for (const double wrong : {-1.0, fault, -fault}) {
                ++faults;
                const GradcheckReport report = one.check(format, wrong);
                caught += report.verdict == Verdict::fail ? 1 : 0;
                if (report.verdict == Verdict::fail) continue;
                INFO("off by " << wrong << ": " << std::string(one.rule.name) << " " << number
                               << "\n"
                               << to_string(report));
                WARN(false);
            }
        }
        MESSAGE(name << ": " << passed << " of " << how_many() << " pass, coarsest r " << coarsest
                     << "; " << caught << " of " << faults << " faults fail");
        CHECK_EQ(failed, 0);
        if (is_short()) continue;  // too few for shares
        CHECK_GE(100 * passed, least * how_many());
        CHECK_GE(100 * caught, 99 * faults);
    }
}

// Of two outputs, the second changes 1e5 times less and is off by a part of itself. Their values do
// not show it: the first is a sum that cancels.
TEST_CASE("format: a small output next to a large one is judged by its own size") {
    const auto f = [](const Plain& x) {
        Plain y(2, 0.0);
        for (const double a : x) {
            y[0] += std::sin(a);
            y[1] += 1e-5 * std::cos(a + 0.3);
        }
        return y;
    };
    const auto rule_off_by = [](double off) {
        return [off](const Plain& x, const Plain& g) {
            Plain slopes;
            for (const double a : x) {
                slopes.push_back(g[0] * std::cos(a) - 1e-5 * (1 + off) * g[1] * std::sin(a + 0.3));
            }
            return slopes;
        };
    };
    struct Off {
        Format format;
        std::size_t n;  // entry by entry, and along directions
        double by;
    };
    for (const Off& one : {Off{Format::f32, 200, 3e-4},
                           {Format::f32, 400, 3e-4},
                           {Format::bf16, 200, -0.9},
                           {Format::f16, 400, -0.5}}) {
        if (is_short() && (one.format == Format::f32) != (one.n == 400)) continue;  // one of each
        Plain x = drawn(31, one.n, -1, 1);
        for (std::size_t i = 0; i + 1 < one.n; i += 2) x[i + 1] = -x[i];
        const auto report = check_pullback(f, rule_off_by(one.by), x, {.format = one.format});
        INFO(one.n << ", off by " << one.by << "\n" << to_string(report));
        CHECK_NE(report.verdict, Verdict::pass);
        const auto right = check_pullback(f, rule_off_by(0), x, {.format = one.format});
        INFO(to_string(right));
        CHECK_NE(right.verdict, Verdict::fail);
    }
}

TEST_CASE("format: exchanged entries of small outputs do not pass next to a huge one") {
    const auto size = [](std::size_t i) { return i < 2 ? 1.0 : 1e-28; };
    const auto f = [&](const Plain& x) {
        Plain y(5);
        for (std::size_t i = 0; i < x.size(); ++i) y[i / 2] += size(i) * std::exp(x[i]);
        return y;
    };
    const auto right = [&](const Plain& x, const Plain& g) {
        Plain dx;
        for (std::size_t i = 0; i < x.size(); ++i)
            dx.push_back(g[i / 2] * size(i) * std::exp(x[i]));
        return dx;
    };
    const auto wrong = [&](const Plain& x, const Plain& g) {
        Plain dx = right(x, g);
        std::swap(dx[5], dx[8]);
        return dx;
    };
    for (int k = 0; k < 20; ++k) {
        Plain x;
        for (int i = 0; i < 10; ++i) x.push_back(0.3 + 0.1 * ((7 * i + 3 * k + i * k) % 8));
        CHECK(check_pullback(f, right, x, {.format = Format::bf16}).verdict != Verdict::fail);
        CHECK_FALSE(check_pullback(f, wrong, x, {.format = Format::bf16}));
    }
}

TEST_CASE("format: a rule that clips is not linear, in f16 as in the others") {
    const auto f = [](Plain x) {
        for (double& a : x) a = std::sin(a);
        return x;
    };
    const auto clipped = [](const Plain& x, Plain g) {
        for (std::size_t i = 0; i < g.size(); ++i) {
            g[i] = std::clamp(g[i] * std::cos(x[i]), -5.0, 5.0);
        }
        return g;
    };
    for (const Format format : {Format::f32, Format::bf16, Format::f16}) {
        const auto report = check_pullback(f, clipped, drawn(5, 8, -1, 1), {.format = format});
        INFO(to_string(report));
        CHECK_EQ(report.verdict, Verdict::fail);
        REQUIRE_EQ(report.complaints.size(), 1U);
        CHECK_NE(report.complaints[0].find("not linear"), std::string::npos);
    }
}

namespace {

// The rule of 0.01 sin(x), whose gradient is clipped at a norm of `most`. It computes with
// `scale` times the incoming gradient, as for a scaled loss, and what f16 cannot hold is infinite.
GradcheckReport check_clipped(double most, double scale) {
    const auto f = [](Plain x) {
        for (double& a : x) a = 0.01 * std::sin(a);
        return x;
    };
    const auto clipped = [=](const Plain& x, Plain g) {
        double squares = 0;
        for (std::size_t i = 0; i < g.size(); ++i) {
            const double scaled = scale * g[i];
            g[i] = std::abs(scaled) < 65520 ? scaled * 0.01 * std::cos(x[i]) / scale : INFINITY;
            squares += g[i] * g[i];
        }
        const double norm = std::sqrt(squares);
        for (double& slope : g) slope *= norm > most ? most / norm : 1;
        return g;
    };
    return check_pullback(f, clipped, drawn(5, 8, -1, 1), {.format = Format::f16});
}

}  // namespace

TEST_CASE("format: a small gradient's clip at 10 is found in f16, whose range is short") {
    const auto report = check_clipped(10, 1);
    INFO(to_string(report));
    CHECK_EQ(report.verdict, Verdict::fail);
    REQUIRE_EQ(report.complaints.size(), 1U);
    CHECK_NE(report.complaints[0].find("not linear"), std::string::npos);
}

TEST_CASE(
    "format: a clip is found in f16 where the rule itself leaves the range for large gradients") {
    const auto report = check_clipped(0.3, 64);
    INFO(to_string(report));
    CHECK_EQ(report.verdict, Verdict::fail);
}

// An output with few distinct values, or one whose rounding follows x, shows the format's rounding
// as a slope.
TEST_CASE("format: what rounding may hide refutes nothing, and what rounds nothing hides nothing") {
    for (const std::uint64_t number : {538U, 919U, 1437U, 239U, 419U, 549U, 1139U}) {
        const GradcheckReport report = drawn_rule(number).check(Format::bf16);
        INFO(number << "\n" << to_string(report));
        CHECK_NE(report.verdict, Verdict::fail);
    }
    const GradcheckReport halves = drawn_rule(8829).check(Format::f16);
    INFO(to_string(halves));
    CHECK_NE(halves.verdict, Verdict::fail);
    for (const std::uint64_t number : {26U, 146U, 186U}) {  // 3 x - 1
        const GradcheckReport dropped = drawn_rule(number).check(Format::f32, -1);
        INFO(number << "\n" << to_string(dropped));
        CHECK_EQ(dropped.verdict, Verdict::fail);
    }
}

// A fit over half of x's size is flat, bent or has a peak where f repeats, has a kink or a pole
// within it: it says nothing of the slope at x.
TEST_CASE("format: a right gradient never fails where f varies within half of x's size") {
    struct Varying {
        const char* name;
        double (*f)(double);
        double (*slope)(double);
        double from, to;
    };
    const Varying all[] = {
        {"sin", [](double x) { return std::sin(x); }, [](double x) { return std::cos(x); }, 10,
         1000},
        {"wrapped angle", [](double x) { return std::atan2(std::sin(x), std::cos(x)); },
         [](double) { return 1.0; }, 3, 300},
        {"peak", [](double x) { return std::exp(-2e4 * (x - 1) * (x - 1)); },
         [](double x) { return -4e4 * (x - 1) * std::exp(-2e4 * (x - 1) * (x - 1)); }, 0.99, 1.01},
        {"pole", [](double x) { return 1 / (x - 1); },
         [](double x) { return -1 / ((x - 1) * (x - 1)); }, 1.01, 1.2},
        {"kink", [](double x) { return std::max(x - 1, 0.0); },
         [](double x) { return x > 1 ? 1.0 : 0.0; }, 0.995, 1.005},
        {"hidden kink", [](double x) { return 5 + std::max(x - 1, 0.0); },
         [](double x) { return x > 1 ? 1.0 : 0.0; }, 0.995, 1.005}};
    for (const Format format : {Format::f32, Format::bf16, Format::f16}) {
        for (const Varying& one : all) {
            for (const std::size_t n : {1U, 4U}) {
                if (n > 1 && std::string(one.name) == "hidden kink") continue;  // too well
                for (std::uint64_t number = 0; number < 4; ++number) {
                    const auto f = [&](const Plain& x) {
                        double sum = 0;
                        for (const double a : x) sum += one.f(a);
                        return sum;
                    };
                    const auto gradient = [&](Plain x) {
                        for (double& a : x) a = one.slope(a);
                        return x;
                    };
                    const auto report = check_gradient(
                        f, gradient, drawn(800 + number, n, one.from, one.to), {.format = format});
                    INFO(std::string(one.name) << "\n" << to_string(report));
                    CHECK_NE(report.verdict, Verdict::fail);
                }
            }
        }
    }
    const auto sine = [](const Plain& x) { return std::sin(x[0]); };
    const auto right = [](const Plain& x) { return Plain{std::cos(x[0])}; };
    const auto wrong = [](const Plain& x) { return Plain{-std::cos(x[0])}; };
    CHECK_EQ(check_gradient(sine, right, {93}, {.format = Format::f32}).verdict, Verdict::pass);
    CHECK_EQ(check_gradient(sine, wrong, {93}, {.format = Format::f32}).verdict, Verdict::fail);
}

TEST_CASE("format: what it refuses, and whose option it is") {
    const auto f = [](const Plain& x) { return x[0]; };
    const auto g = [](const Plain&) { return Plain{1}; };
    check_throws<ValueError>([&] { check_gradient(f, g, {1e5}, {.format = Format::f16}); },
                             "check_gradient: x[0] = 100000 is beyond f16");
    check_throws<ValueError>(
        [] {
            gradcheck([](const Tensors& x) { return x[0]; }, {tensor<double>({1})},
                      {.format = Format::bf16});
        },
        "gradcheck: format = bf16 is an option of plain functions (check_gradient)");
    const GradcheckReport report = check_gradient(f, g, {1}, {.format = Format::bf16});
    CHECK_EQ(report.subject, "plain function in bf16");
    CHECK_EQ(verdict_of(report), "PASS");
}
