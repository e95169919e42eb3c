// A kink has no gradient, only a slope on either side: any value between them is right, and
// differences across it mean nothing. How close to a kink a check works, and what is not a kink.
#include <tapestry/autograd/check/plain.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/order.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/subscript.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/judge/plain_cases.h>
#include <tapestry/tests/judge/support.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

using namespace tapestry;
using test::check_passes;
using test::contains;
using test::random;
using test::verdict_of;

namespace {

Tensor relu_with(const Tensor& x, double slope_at_0);

// relu that claims a given slope at 0.
struct KinkedOp final : Op {
    KinkedOp(const Tensor& x, double slope_at_0) : Op("kinked", {x}), slope_at_0_(slope_at_0) {}
    Tensors forward(const Tensors& x) const override { return {relu_with(x[0], slope_at_0_)}; }
    Tensor decisions(const Tensors& x) const override { return side_of(x[0], 0.0); }
    Tensors backward(const Tensors& grads) override {
        const Tensor x = saved(0).detach().clone();
        Tensor slopes = zeros_like(x);
        for (std::int64_t i = 0; i < x.numel(); ++i) {
            const double value = x.data<double>()[i];
            slopes.mutable_data<double>()[i] = value > 0 ? 1 : (value == 0 ? slope_at_0_ : 0);
        }
        return {grads[0] * slopes};
    }

private:
    double slope_at_0_;
};

Tensor relu_with(const Tensor& x, double slope_at_0) {
    Tensor y = [&] {
        const NoGradGuard no_grad;
        return relu(x);
    }();
    return record<KinkedOp>({x}, y, x, slope_at_0);
}

// Passes; the note says whether x is on a kink, and of which op.
void check_on_kink(const TensorFunction& f, const Tensor& x, const std::string& op) {
    for (const auto method : {GradcheckMethod::jacobian, GradcheckMethod::entries}) {
        const GradcheckReport report = gradcheck(f, {x}, {.method = method});
        check_passes(report);
        CHECK_EQ(report.inputs[0].note,
                 op.empty() ? ""
                            : "on a kink of " + op +
                                  ": the gradient lies between the slopes on both sides");
    }
}

}  // namespace

TEST_CASE("kinks: on one, any slope between those to both sides will do") {
    const TensorFunction rectify = [](const Tensors& x) { return relu(x[0]); };
    const TensorFunction absolute = [](const Tensors& x) { return abs(x[0]); };
    check_on_kink(rectify, tensor<double>({0}), "relu (#0)");
    check_on_kink(rectify, tensor<double>({0, 1, -1}), "relu (#0)");
    check_on_kink(rectify, tensor<double>({0, 0, 0}), "relu (#0)");
    check_on_kink(absolute, tensor<double>({2, 0}), "abs (#0)");
    check_on_kink([](const Tensors& x) { return exp(relu(sin(x[0]))); }, tensor<double>({0, 1}),
                  "relu (#1)");
    check_on_kink([](const Tensors& x) { return max(x[0]); }, tensor<double>({1, 3, 3, 2}),
                  "max (#0)");
    check_on_kink([](const Tensors& x) { return clamp(x[0], -1, 1); },
                  tensor<double>({-1, 1, 0.5, 2}), "clamp (#0)");
    for (const double slope : {0.0, 0.25, 0.5, 1.0}) {
        const GradcheckReport report = gradcheck(
            [slope](const Tensors& x) { return relu_with(x[0], slope); }, {tensor<double>({0, 1})});
        check_passes(report);
        CHECK(contains(report.inputs[0].note, "on a kink of kinked (#0)"));
    }
}

TEST_CASE("kinks: a slope that is not between them is wrong") {
    for (const double slope : {1.5, -0.5, 1.0001, -1e-4}) {
        const GradcheckReport report = gradcheck(
            [slope](const Tensors& x) { return relu_with(x[0], slope); }, {tensor<double>({0, 1})});
        INFO(to_string(report));
        CHECK_EQ(verdict_of(report), "FAIL");
        CHECK(contains(report.inputs[0].worst.where, "at [0]"));
        REQUIRE(report.first_wrong);
        CHECK_EQ(report.first_wrong->op, "kinked");
    }
}

TEST_CASE("kinks: next to one, the slope is that of x's side, at any distance") {
    for (const double near : {1e-7, 1e-12}) {
        for (const double x : {near, -near}) {
            CAPTURE(x);
            const TensorFunction rectify = [](const Tensors& t) { return relu(t[0]); };
            const TensorFunction clamped = [x](const Tensors& t) { return clamp(t[0], -1, x); };
            check_on_kink(rectify, tensor<double>({x}), "");
            check_on_kink([](const Tensors& t) { return abs(t[0]); }, tensor<double>({x}), "");
            check_on_kink(clamped, tensor<double>({0}), "");
            // Steps this small do not change outputs of size 1: the check may be inconclusive about
            // those, but must not call relu's slope wrong.
            const Tensor several = tensor<double>({x, 1, -1});
            if (near == 1e-7) {
                check_on_kink(rectify, several, "");
            } else {
                CHECK(gradcheck(rectify, {several}).verdict != Verdict::fail);
            }
        }
    }
    for (const double apart : {1e-7, -1e-7}) {
        check_on_kink([](const Tensors& t) { return max(t[0]); }, tensor<double>({1 + apart, 1}),
                      "");
    }
}

// Regions of interest are pooled by rows' maxima, and the second largest is close behind.
TEST_CASE("kinks: maxima of rows of four with a close second") {
    const TensorFunction maxima = [](const Tensors& x) { return max(x[0], {1}); };
    // The gradient of the second largest.
    const TensorFunction wrong = [](const Tensors& x) {
        const Tensor order = argsort(x[0], 1);
        const Tensor second = narrow(order, 1, 2, 1);
        const Tensor through = gather(x[0], 1, second);
        return squeeze(through - through.detach() + max(x[0].detach(), {1}, true), 1);
    };
    for (const double apart : {1e-1, 1e-3, 1e-5, 1e-7}) {
        CAPTURE(apart);
        Generator generator(13);
        for (int round = 0; round < (test::is_short() ? 2 : 20); ++round) {
            std::vector<double> numbers(12);
            for (double& number : numbers) number = generator.uniform() - 2;
            for (std::size_t row = 0; row < 3; ++row) {
                numbers[4 * row + generator.below(2)] = 1 + static_cast<double>(row);
                numbers[4 * row + 2 + generator.below(2)] = 1 + static_cast<double>(row) - apart;
            }
            const Tensor x = tensor(numbers, {3, 4});
            const GradcheckReport report = gradcheck(maxima, {x});
            INFO(to_string(report));
            CHECK_NE(verdict_of(report), "FAIL");
            if (apart >= 1e-3) CHECK_EQ(verdict_of(report), "PASS");
            CHECK_NE(verdict_of(gradcheck(wrong, {x})), "PASS");
            if (apart >= 1e-3) CHECK_EQ(verdict_of(gradcheck(wrong, {x})), "FAIL");
        }
    }
}

// With the kink at 4/9 of the largest of three steps, D(h), D(h/2) and D(h/4) converge by factors
// of 4 like those of a smooth function, but to a wrong slope. Smaller steps drown in noise.
TEST_CASE("kinks: next to one, where three quotients look smooth by chance") {
    const double x = 0.8;
    for (const int power : {-31, -37, -43}) {
        for (const double side : {1.0, -1.0}) {
            const double kink = x + side * 4.0 / 9 * std::ldexp(x, power);
            const GradcheckReport report = check_gradient(
                [kink](const std::vector<double>& at) {
                    return 2 * std::abs(at[0] - kink) + std::sin(at[0]);
                },
                [side](const std::vector<double>& at) {
                    return std::vector<double>{-2 * side + std::cos(at[0])};
                },
                {x});
            INFO(power << " " << side << "\n" << to_string(report));
            CHECK_NE(report.verdict, Verdict::fail);
        }
    }
}

TEST_CASE("kinks: next to one, neither the other side's slope is right nor one between them") {
    for (const double x : {1e-7, -1e-7, 1e-12, -1e-12}) {
        for (const double factor : {0.5, 0.0, 1.0}) {
            const auto f = [factor](const Tensors& t) {
                return test::with_rule(
                    relu(t[0]) * 1.0, [](const Tensor& u) { return u.clone(); },
                    [factor](const Tensor& g, const Tensor&) { return Tensors{g * factor}; });
            };
            CAPTURE(x);
            CAPTURE(factor);
            // Below 0 the slope is 0 for any factor.
            const bool right = factor == 1 || x < 0;
            CHECK_EQ(verdict_of(gradcheck(f, {tensor<double>({x})})), right ? "PASS" : "FAIL");
        }
    }
}

TEST_CASE("kinks: order 2 jumps there, and nothing can be said") {
    const GradcheckReport report =
        gradgradcheck([](const Tensors& x) { return relu(x[0]); }, {tensor<double>({0})});
    CHECK_EQ(verdict_of(report), "INCONCLUSIVE (kink)");
    CHECK_EQ(report.inputs[0].note, "relu (#0) takes different branches however small the step");
    check_passes(gradgradcheck([](const Tensors& x) { return square(relu(x[0])); },
                               {tensor<double>({1e-7, 1, -1})}));
}

TEST_CASE("kinks: an index that is computed is a branch") {
    // The largest of each row, computed twice: as a value, and by its index.
    const auto largest = [](const Tensors& x) {
        return gather(x[0], 1, unsqueeze(argmax(x[0], 1), 1));
    };
    for (const test::Checker check : test::kBothOrders) {
        check_passes(check(largest, {random({3, 4})}, {}));
        check_passes(check(largest, {tensor<double>({{1, 3, 3 + 1e-9}, {0, 1, 2}})}, {}));
    }
}

TEST_CASE("kinks: at a jump, the slope is that of x's side") {
    const auto doubled_above_1 = [](const Tensors& x) {
        return where(gt(x[0], 1.0), x[0] * 2.0, x[0]);
    };
    for (const double at : {1.0, 1 - 1e-6, 1 + 1e-6, 0.5}) {
        check_passes(gradcheck(doubled_above_1, {tensor<double>({at})}));
    }
}

TEST_CASE("kinks: a jump that no op admits is not believed to be smooth") {
    // floor() without the tape, whose gradient is 0 except at integers.
    const auto floored = [](const Tensors& x) {
        return test::with_rule(
            x[0],
            [](const Tensor& t) {
                Tensor y = t.clone();
                for (std::int64_t i = 0; i < y.numel(); ++i) {
                    y.mutable_data<double>()[i] = std::floor(y.data<double>()[i]);
                }
                return y;
            },
            [](const Tensor& g, const Tensor&) { return Tensors{g * 0.0}; });
    };
    check_passes(gradcheck(floored, {tensor<double>({2.5, 0.5})}));
    CHECK_FALSE(static_cast<bool>(gradcheck(floored, {tensor<double>({2, 0.5})})));
}

TEST_CASE("kinks: a pole or a threshold next to x excuses no wrong claim") {
    using OfOne = double (*)(double);
    struct Beside {
        const char* name;
        OfOne f, slope;
    };
    const Beside all[] = {
        {"1 / (x - 1)", [](double a) { return 1 / (a - 1); },
         [](double a) { return -1 / ((a - 1) * (a - 1)); }},
        {"1 / (x - 1)^2", [](double a) { return 1 / ((a - 1) * (a - 1)); },
         [](double a) { return -2 / ((a - 1) * (a - 1) * (a - 1)); }},
        {"log |x - 1|", [](double a) { return std::log(std::abs(a - 1)); },
         [](double a) { return 1 / (a - 1); }},
        {"sin x + (x > 1)", [](double a) { return std::sin(a) + (a > 1 ? 1 : 0); },
         [](double a) { return std::cos(a); }},
    };
    for (const Beside& one : all) {
        CAPTURE(one.name);
        const auto verdict = [&](double at, double times) {
            return check_gradient([&](const std::vector<double>& x) { return one.f(x[0]); },
                                  [&](const std::vector<double>& x) {
                                      return std::vector<double>{times * one.slope(x[0])};
                                  },
                                  {at}, {.explain = false})
                .verdict;
        };
        for (const double away : {-0.19, -0.0105, -1.3e-3, 1.1e-3, 0.0125, 0.23}) {
            CAPTURE(away);
            CHECK_EQ(verdict(1 + away, 1), Verdict::pass);
            CHECK_EQ(verdict(1 + away, 1.3), Verdict::fail);
            CHECK_EQ(verdict(1 + away, -1), Verdict::fail);
        }
    }
}

namespace {

using Numbers = std::vector<double>;

// n numbers within `width` of 1
Numbers around_one(std::size_t n, double width, std::uint64_t seed) {
    Generator generator(seed);
    return uniform({static_cast<std::int64_t>(n)}, 1 - width, 1 + width, generator, DType::f64)
        .to_vector<double>();
}

GradcheckReport check_each(double (*f)(double), double (*slope)(double), const Numbers& x,
                           double factor = 1) {
    const auto sum = [f](const Numbers& at) {
        double total = 0;
        for (const double a : at) total += f(a);
        return total;
    };
    const auto gradient = [slope, factor](const Numbers& at) {
        Numbers g;
        for (const double a : at) g.push_back(factor * slope(a));
        return g;
    };
    return check_gradient(sum, gradient, x, {.explain = false});
}

// The larger one of each pair
double sum_of_largest(const Numbers& x) {
    double sum = 0;
    for (std::size_t i = 0; i + 1 < x.size(); i += 2) sum += std::max(x[i], x[i + 1]);
    return sum;
}

Numbers which_are_largest(const Numbers& x) {
    Numbers g(x.size(), 0.0);
    for (std::size_t i = 0; i + 1 < x.size(); i += 2) g[x[i] > x[i + 1] ? i : i + 1] = 1;
    return g;
}

double soft_threshold(double a) {
    const double t = a - 1;
    return t > 1e-3 ? t - 1e-3 : t < -1e-3 ? t + 1e-3 : 0;
}

double above_one(double a) { return std::max(a - 1, 0.0); }
double is_above_one(double a) { return a > 1 ? 1 : 0; }
double leaky(double a) { return a > 1 ? a - 1 : 0.01 * (a - 1); }
double slope_of_leaky(double a) { return a > 1 ? 1 : 0.01; }

}  // namespace

// Near x, f is exact: the many kinks beyond are no noise, and a slope from afar refutes nothing.
TEST_CASE("kinks: many of them around x are no noise") {
    for (const std::size_t n : {256U, 257U, 1000U}) {
        CAPTURE(n);
        Numbers x(n);
        for (std::size_t i = 0; i < n; ++i)
            x[i] = 1 + 5e-4 * std::sin(37.0 * static_cast<double>(i) + 1);
        CHECK_EQ(verdict_of(check_each(
                     soft_threshold, [](double) { return 0.0; }, x)),
                 "PASS");
        for (std::uint64_t seed = 0; seed < 8; ++seed) {
            CAPTURE(seed);
            const Numbers near = around_one(n, 5e-3, seed);
            CHECK(check_each(above_one, is_above_one, near).verdict != Verdict::fail);
            CHECK(check_each(leaky, slope_of_leaky, near).verdict != Verdict::fail);
            const auto pool =
                check_gradient(sum_of_largest, which_are_largest, near, {.explain = false});
            CHECK(pool.verdict != Verdict::fail);
        }
    }
}

TEST_CASE("kinks: beside many of them a wrong gradient fails") {
    for (const std::size_t n : {256U, 257U, 1000U}) {
        CAPTURE(n);
        const Numbers x = around_one(n, 5e-4, 3);
        CHECK_EQ(verdict_of(check_each(leaky, slope_of_leaky, x, 1.3)), "FAIL");
        CHECK_EQ(verdict_of(check_each(above_one, is_above_one, x, -1)), "FAIL");
    }
}

// A number below its kink moves f only beyond it. There f moves by less than the claim would have
// moved it here, so f does not round: it is flat.
TEST_CASE("kinks: a rule without its mask fails") {
    for (const double width : {1e-2, 1e-1, 0.5}) {
        CAPTURE(width);
        for (std::uint64_t seed = 0; seed < 8; ++seed) {
            CAPTURE(seed);
            Numbers x = around_one(10, width, seed);
            x[0] = 1 - width * (1 + static_cast<double>(seed)) / 10;
            CHECK_EQ(verdict_of(check_each(above_one, is_above_one, x)), "PASS");
            CHECK_EQ(verdict_of(check_each(
                         above_one, [](double) { return 1.0; }, x)),
                     "FAIL");
            CHECK_EQ(verdict_of(
                         check_each(soft_threshold, [](double) { return 1.0; }, {1.0, 2.0, x[0]})),
                     "FAIL");
        }
    }
    // In steps, up to a kink and beyond: any slope may be meant.
    const auto rounded_up_to = [](double kink) {
        return [kink](const Numbers& x) {
            return std::round(64 * x[0]) / 64 + std::max(0.0, x[0] - kink) + x[1];
        };
    };
    const auto ones = [](const Numbers& x) { return Numbers(x.size(), 1.0); };
    for (const double kink : {1.05, 1.2, 1.4}) {
        CAPTURE(kink);
        CHECK(check_gradient(rounded_up_to(kink), ones, {1, 2}).verdict != Verdict::fail);
    }
}

TEST_CASE("kinks: jumps next to a pole or within narrow bounds are found, and f's oscillation") {
    using OfOne = std::function<double(double)>;
    const auto fails = [](const OfOne& f, double at, double claim,
                          std::vector<Bounds> bounds = {}) {
        GradcheckOptions options{.explain = false};
        options.bounds = std::move(bounds);
        return check_gradient(
                   [&](const std::vector<double>& x) { return f(x[0]); },
                   [&](const std::vector<double>&) { return std::vector<double>{claim}; }, {at},
                   options)
                   .verdict == Verdict::fail;
    };
    // Partly in f32, in bounds that end 2e-9 below x.
    const double a = 0.20717235583120946, at = 2.5109458304592516;
    const auto coarse = [=](double x) {
        return a * std::sin(x) + (1 - a) * static_cast<double>(std::sin(static_cast<float>(x)));
    };
    CHECK_FALSE(fails(coarse, at, std::cos(at), {{2.5109458248932781, 2.6958896845425961}}));
    CHECK(fails(coarse, at, -std::cos(at), {{2.4, 2.6958896845425961}}));
    // Right up to a jump: 34 numbers below an integer.
    const auto fraction = [](double x) { return x - std::floor(x); };
    CHECK_FALSE(fails(fraction, 99999.999999999505, 1));
    // A fast oscillation added to a smooth part.
    const auto ripples = [](double x) { return x * x + 1e-10 * std::sin(1e14 * x); };
    CHECK_FALSE(fails(ripples, 1.3, 2.6 + 1e4 * std::cos(1e14 * 1.3)));
    // In f32, with one jump within half of x.
    const auto naive = [](double x) {
        const auto e = static_cast<float>(x);
        return static_cast<double>((1 / (1 - e) - 1) / e);
    };
    CHECK_FALSE(fails(naive, -1.5e-7, 1 / ((1 + 1.5e-7) * (1 + 1.5e-7))));
    // Steps of x / 2 across the pole see a slope of 0; f(x) is 26 times its rounding above them.
    const auto pole = [](double x) { return 1.25e18 + 1 / (x - 1); };
    const double near = 1.0003002112234356;
    CHECK_FALSE(fails(pole, near, -1 / ((near - 1) * (near - 1))));
}

TEST_CASE("kinks: many entries in a dead zone that is narrower than the steps are no wrong claim") {
    static constexpr double kEdge = 1e-3;
    constexpr std::size_t kEntries = 578;
    constexpr std::uint64_t kSeeds = 12;
    int failed = 0;
    for (std::uint64_t seed = 1; seed <= 2 * kSeeds; ++seed) {
        const double width = seed > kSeeds ? 0.002 : 0.024;
        std::vector<double> x(kEntries);
        std::uint64_t state = seed;
        for (double& at : x) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            at = 1 + width * (static_cast<double>(state >> 11U) * 0x1p-52 - 1);
        }
        const auto f = [](const std::vector<double>& at) {
            double sum = 0;
            for (const double a : at) sum += a - 1 - std::clamp(a - 1, -kEdge, kEdge);
            return sum;
        };
        const auto g = [](const std::vector<double>& at) {
            std::vector<double> slopes;
            for (const double a : at) slopes.push_back(std::abs(a - 1) > kEdge ? 1 : 0);
            return slopes;
        };
        failed += check_gradient(f, g, x).verdict == Verdict::fail ? 1 : 0;
    }
    CHECK_EQ(failed, 0);
}

TEST_CASE("kinks: numbers that change their order within the steps are no wrong claim") {
    // sum_i w_i x_(i), of which x_(i) is the i-th smallest number: a loss of sorted numbers.
    const auto weight = [](std::size_t rank) { return 0.37 * static_cast<double>(rank % 5); };
    const auto f = [=](std::vector<double> x) {
        std::ranges::sort(x);
        double sum = 0;
        for (std::size_t rank = 0; rank < x.size(); ++rank) sum += weight(rank) * x[rank];
        return sum;
    };
    const auto slopes_times = [=](double factor) {
        return [=](const std::vector<double>& x) {
            std::vector<std::size_t> order(x.size());
            std::iota(order.begin(), order.end(), std::size_t{0});
            std::ranges::sort(order, {}, [&x](std::size_t i) { return x[i]; });
            std::vector<double> slopes(x.size());
            for (std::size_t rank = 0; rank < x.size(); ++rank) {
                slopes[order[rank]] = factor * weight(rank);
            }
            return slopes;
        };
    };
    const int seeds = test::is_long() ? 8 : 4;  // most of the time of this program
    for (const auto& around : {std::pair{3.0, 1.0}, {3.0, 0.05}, {0.0, 1.0}}) {
        const double middle = around.first, width = around.second;
        CAPTURE(middle);
        CAPTURE(width);
        int right_failed = 0, wrong_failed = 0;
        for (int i = 1; i <= seeds; ++i) {
            const auto seed = static_cast<std::uint64_t>(i);
            const auto x = test::drawn(seed, 400, middle - width, middle + width);
            right_failed += check_gradient(f, slopes_times(1), x).verdict == Verdict::fail ? 1 : 0;
            wrong_failed += check_gradient(f, slopes_times(2), x).verdict == Verdict::fail ? 1 : 0;
        }
        CHECK_EQ(right_failed, 0);
        CHECK_GE(4 * wrong_failed, 3 * seeds);
    }
}
