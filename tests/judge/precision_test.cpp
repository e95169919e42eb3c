// f32 against f64; and curves of error against step.
#include <tapestry/autograd/check/curve.h>
#include <tapestry/autograd/check/precision.h>
#include <tapestry/autograd/jvp.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/tests/judge/support.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

using namespace tapestry;
using test::check_throws;
using test::random;
using test::with_rule;

namespace {

// tanh with a rule that is off by a factor in one dtype only.
TensorFunction wrong_in(DType dtype, double factor) {
    return [dtype, factor](const Tensors& x) {
        return with_rule(
            x[0], [](const Tensor& t) { return tanh(t); },
            [dtype, factor](const Tensor& g, const Tensor& t) {
                return Tensors{g * (1.0 - square(tanh(t))) * (t.dtype() == dtype ? factor : 1.0)};
            });
    };
}

}  // namespace

TEST_CASE("compare_precisions: right, wrong in f32, and the histogram") {
    const Tensors x{random({5, 7})};
    const PrecisionReport right = compare_precisions(wrong_in(DType::f32, 1), x);
    CHECK_EQ(right.verdict, Verdict::pass);
    const auto& ulps = right.inputs.at(0).ulps;
    CHECK_EQ(std::accumulate(ulps.begin(), ulps.end(), std::int64_t{0}), 35);
    CHECK_EQ(ulps.back(), 0);
    for (const double factor : {1.02, 0.98, -1.0, 0.0}) {
        CAPTURE(factor);
        const PrecisionReport wrong = compare_precisions(wrong_in(DType::f32, factor), x);
        CHECK_EQ(wrong.verdict, Verdict::fail);
        CHECK_GT(wrong.inputs.at(0).ulps.back(), 0);
        CHECK_EQ(nlohmann::json::parse(to_json(wrong)).at("verdict"), "FAIL");
        CHECK(to_string(wrong).find("FAIL         input 0 [5, 7]") != std::string::npos);
    }
}

TEST_CASE("compare_precisions: what f32 cannot hold is inconclusive") {
    const TensorFunction f = [](const Tensors& x) { return exp(x[0]); };
    const PrecisionReport report = compare_precisions(f, {tensor<double>({100, 101})});
    CHECK_EQ(report.verdict, Verdict::inconclusive);
    CHECK_EQ(report.reason, Reason::not_finite);
    check_throws<DTypeError>([&] { compare_precisions(f, {tensor<std::int64_t>({1})}); },
                             "compare_precisions: input 0 is not of a floating-point type");
}

TEST_CASE("compare_precisions: in bf16 and f16 what is off by more than their numbers are apart") {
    const Tensors x{random({5, 7})};
    for (const DType dtype : {DType::bf16, DType::f16}) {
        CAPTURE(name_of(dtype));
        const auto with = [&](double factor) {
            return compare_precisions(wrong_in(dtype, factor), x, 1, dtype);
        };
        const PrecisionReport right = with(1);
        CHECK_EQ(right.verdict, Verdict::pass);
        CHECK(right.dtype == dtype);
        CHECK_EQ(compare_precisions(wrong_in(DType::f32, -1), x, 1, dtype).verdict, Verdict::pass);
        for (const double factor : {-1.0, 0.0, 0.5, 2.0}) {
            CAPTURE(factor);
            const PrecisionReport wrong = with(factor);
            CHECK_EQ(wrong.verdict, Verdict::fail);
            CHECK(to_string(wrong).find(fmt::format("{} against f64", dtype)) != std::string::npos);
            CHECK(nlohmann::json::parse(to_json(wrong))
                      .at("inputs")
                      .at(0)
                      .contains(std::string(name_of(dtype))));
        }
        CHECK_NE(with(dtype == DType::f16 ? 1.1 : 1.5).verdict, Verdict::pass);
    }
    const TensorFunction f = [](const Tensors& t) { return exp(t[0]); };
    const PrecisionReport beyond = compare_precisions(f, {tensor<double>({12, 13})}, 1, DType::f16);
    CHECK_EQ(beyond.verdict, Verdict::inconclusive);
    CHECK_EQ(beyond.reason, Reason::not_finite);
    check_throws<DTypeError>([&] { compare_precisions(f, {random({2})}, 1, DType::f64); },
                             "compare_precisions: the format must be f32, bf16 or f16, got f64");
}

namespace {

// A rule that rounds each result to bf16, as code that computes in bf16 does.
PlainRule rounded_to_bf16_by(double factor, const PlainRule& rule) {
    const auto narrowed = [](std::vector<double> x) {
        for (double& value : x) value = rounded_to_bf16(value);
        return x;
    };
    return {[=](const PlainInputs& x) { return narrowed(rule.f(x)); },
            [=](const PlainInputs& x, const std::vector<double>& g) {
                PlainInputs all = rule.pullback(x, g);
                for (std::vector<double>& one : all) {
                    for (double& value : one) value *= factor;
                    one = narrowed(one);
                }
                return all;
            }};
}

PrecisionReport compare_plain(const PlainRule& rule, const PlainInputs& x, double factor = 1,
                              const PlainPrecisionOptions& options = {}) {
    return compare_precisions(rounded_to_bf16_by(factor, rule), rule, x, DType::bf16, options);
}

// y_i = f(x_i)
PlainRule each(double (*f)(double), double (*slope)(double)) {
    return {[f](const PlainInputs& x) {
                std::vector<double> y;
                for (const double a : x[0]) y.push_back(f(a));
                return y;
            },
            [slope](const PlainInputs& x, const std::vector<double>& g) {
                PlainInputs dx(1);
                for (std::size_t i = 0; i < g.size(); ++i) dx[0].push_back(g[i] * slope(x[0][i]));
                return dx;
            }};
}

}  // namespace

TEST_CASE("compare_precisions: of plain functions that compute in bf16") {
    const PlainRule sine =
        each([](double x) { return std::sin(x); }, [](double x) { return std::cos(x); });
    const PlainInputs x{{0.3, -2, 1.5, 0.01, 2.5, -0.7}};
    const PrecisionReport right = compare_plain(sine, x, 1, {.shapes = {{2, 3}}, .output = {6, 1}});
    CHECK_EQ(right.verdict, Verdict::pass);
    CHECK(right.inputs.at(0).shape == Shape{2, 3});
    for (const double factor : {-1.0, 0.0, 0.5, 2.0}) {
        CAPTURE(factor);
        CHECK_EQ(compare_plain(sine, x, factor).verdict, Verdict::fail);
    }
    check_throws<DTypeError>([&] { compare_precisions(sine, sine, x, DType::f32); },
                             "compare_precisions: the format must be bf16 or f16, got f32");
    check_throws<ShapeError>(
        [&] {
            compare_plain(sine, x, 1, {.output = {2, 2}});
        },
        "compare_precisions: f gave 6 numbers for a shape of [2, 2]");
}

TEST_CASE("compare_precisions: plain functions are called near x alone, where they are defined") {
    double least = 1e300, most = -1e300;
    const PlainRule root{[&](const PlainInputs& x) {
                             least = std::min(least, x[0][0]);
                             most = std::max(most, x[0][0]);
                             if (x[0][0] < 1) throw std::domain_error("below 1");
                             return std::vector{std::sqrt(x[0][0])};
                         },
                         [](const PlainInputs& x, const std::vector<double>& g) {
                             return PlainInputs{{g[0] / 2 / std::sqrt(x[0][0])}};
                         }};
    CHECK_EQ(compare_plain(root, {{1}}).verdict, Verdict::pass);
    CHECK_GT(least, 0.8);
    least = 1e300;
    CHECK_EQ(compare_plain(root, {{1}}, 1, {.bounds = {{1, 1.05}}}).verdict, Verdict::pass);
    CHECK_EQ(least, 1);
    CHECK_LE(most, 1.2);
    CHECK_THROWS_AS(compare_plain(root, {{0.5}}), std::domain_error);
    check_throws<ValueError>(
        [&] {
            compare_plain(root, {{1.001}}, 1, {.bounds = {{1.001, 2}}});
        },
        "compare_precisions: input 0, rounded to bf16, is outside its bounds");
}

TEST_CASE("compare_precisions: what a plain function rounds on its way, and where it branches") {
    // 1 - t^2 loses all but a few bits of t at |x| = 3; the f64 rule keeps them.
    const PlainRule exact = each([](double x) { return std::tanh(x); },
                                 [](double x) { return 1 - std::tanh(x) * std::tanh(x); });
    const auto slope = [](double x) {
        const double t = rounded_to_bf16(std::tanh(x));
        return rounded_to_bf16(1 - rounded_to_bf16(t * t));
    };
    for (const double at : {2.5, 3.0, -2.8, 3.3}) {
        CAPTURE(at);
        const auto of = [&](const PlainRule& narrow) {
            return compare_precisions(narrow, exact, {{at}}, DType::bf16).verdict;
        };
        CHECK_NE(of(each([](double x) { return rounded_to_bf16(std::tanh(x)); }, slope)),
                 Verdict::fail);
    }
    // 256 - 255 is on one side of the kink; 1/3 + 255, rounded, minus 255 is on the other.
    const PlainRule kink = each([](double x) { return std::max(0.0, x - 255.4); },
                                [](double x) { return x > 255.4 ? 1.0 : 0.0; });
    const PlainRule moved = each([](double x) { return std::max(0.0, x - 256); },
                                 [](double x) { return x > 256 ? 1.0 : 0.0; });
    CHECK_EQ(compare_precisions(moved, kink, {{256}}, DType::bf16).verdict, Verdict::inconclusive);
    // A non-finite gradient is not wrong: it exceeds the range of f16.
    const PlainRule reciprocal =
        each([](double x) { return 1 / x; }, [](double x) { return -1 / x / x; });
    const PlainRule by_square = each([](double x) { return rounded_to_f16(1 / x); },
                                     [](double x) { return -1 / rounded_to_f16(x * x); });
    const PrecisionReport beyond = compare_precisions(by_square, reciprocal, {{1e-4}}, DType::f16);
    CHECK_EQ(beyond.verdict, Verdict::inconclusive);
    CHECK_EQ(beyond.reason, Reason::not_finite);
}

TEST_CASE("compare_precisions: a rule that remembers is found") {
    auto last = std::make_shared<Tensor>();
    const TensorFunction f = [last](const Tensors& x) {
        return with_rule(
            x[0], [](const Tensor& t) { return tanh(t); },
            [last](const Tensor& g, const Tensor& t) {
                const Tensor now = (g * (1.0 - square(tanh(t)))).detach();
                const bool old = last->defined() && last->dtype() == now.dtype();
                const Tensor before = old ? *last : now;
                if (t.dtype() == DType::f32) *last = now;
                return Tensors{before};
            });
    };
    const PrecisionReport report = compare_precisions(f, {random({4})});
    CHECK_EQ(report.verdict, Verdict::fail);
    CHECK(report.complaint.find("gave two results") != std::string::npos);
}

TEST_CASE("compare_precisions: NaN, and sums in any order, are no memory") {
    const PlainRule sine =
        each([](double x) { return std::sin(x); }, [](double x) { return std::cos(x); });
    const PlainRule overflows = each([](double x) { return rounded_to_f16(std::sin(x)); },
                                     [](double) { return std::nan(""); });
    const PrecisionReport none = compare_precisions(overflows, sine, {{0.5, 2}}, DType::f16);
    CHECK_EQ(none.verdict, Verdict::inconclusive);
    CHECK_EQ(none.reason, Reason::not_finite);
    CHECK_EQ(none.complaint, "");
    CHECK_EQ(nlohmann::json::parse(to_json(none)).at("inputs").at(0).at("f16"), "nan");
    int calls = 0;
    const PlainRule in_any_order{
        [](const PlainInputs& x) { return std::vector{rounded_to_bf16(std::sin(x[0][0]))}; },
        [&calls](const PlainInputs& x, const std::vector<double>& g) {
            const double last_bits = 1 + 0x1p-8 * (calls++ % 3);
            const double slope = g[0] * std::cos(x[0][0]) * last_bits;
            return PlainInputs{{rounded_to_bf16(slope)}};
        }};
    const PrecisionReport sums = compare_precisions(in_any_order, sine, {{0.5}}, DType::bf16);
    CHECK_EQ(sums.complaint, "");
    CHECK_EQ(sums.verdict, Verdict::pass);
}

TEST_CASE("compare_precisions: next to a gradient in f64 that is not finite nothing is wrong") {
    const PlainRule narrow =
        each([](double x) { return rounded_to_bf16(x); }, [](double) { return 1.0; });
    const PlainRule wide = each([](double x) { return x; }, [](double) { return std::nan(""); });
    const PrecisionReport report = compare_precisions(narrow, wide, {{0.5}}, DType::bf16);
    CHECK_EQ(report.verdict, Verdict::inconclusive);
    CHECK_EQ(report.reason, Reason::not_finite);
}

TEST_CASE("compare_precisions: f need not be defined at -x") {
    const TensorFunction f = [](const Tensors& x) {
        for (const double value : x[0].to_vector<double>()) {
            if (value < 0) throw std::domain_error("below 0");
        }
        return sqrt(x[0]);
    };
    CHECK_EQ(compare_precisions(f, {tensor<double>({0.5, 2})}).verdict, Verdict::pass);
}

TEST_CASE("error_curve: a right gradient makes a V, a wrong one a plateau") {
    const Tensor x = random({6}).set_requires_grad();
    const auto curve_of = [&](double factor) {
        return error_curve([&] { return test::tanh_times(x, factor); }, {{"x<1>", x}});
    };
    const auto least = [](const ErrorCurve& curve) {
        double smallest = 1e300;
        for (const CurvePoint& point : curve.points) {
            smallest = std::min(smallest, point.difference);
        }
        return smallest;
    };
    const ErrorCurve right = curve_of(1), wrong = curve_of(1.01);
    CHECK_LT(least(right), 1e-9 * std::abs(right.claimed));
    CHECK_GT(least(wrong), 5e-3 * std::abs(wrong.claimed));
    CHECK_GT(right.points.front().difference, 1e3 * least(right));
    CHECK_GT(right.points.back().difference, 1e3 * least(right));
    const std::string svg = to_svg({right, wrong});
    CHECK(svg.find("x&lt;1&gt;") == std::string::npos);  // > needs no escape
    CHECK(svg.find("x&lt;1>, claimed") != std::string::npos);
    CHECK_EQ(to_svg({}).substr(0, 4), "<svg");
    const ErrorCurve exact{"x", 1, {{0.1, 0, 0}, {0.01, 0, INFINITY}}};
    CHECK(to_svg({exact}).find("x, claimed 1</text>") != std::string::npos);
    check_throws<IndexError>(
        [&] {
            error_curve([&] { return x; }, {{"x", x}}, 1);
        },
        "error_curve: no leaf 1 among 1");
}

TEST_CASE("jvp: J u, for several outputs and directions together") {
    const Tensor a = random({2, 3}, 1).set_requires_grad(),
                 b = random({3, 2}, 2).set_requires_grad();
    const Tensor u = random({2, 3}, 3), v = random({3, 2}, 4);
    Tape tape;
    const Tensor y = matmul(a, b), z = sin(a), constant = random({2});
    const Tensors slopes = jvp(tape, {y, z, constant}, {a, b}, {u, v});
    const NoGradGuard no_grad;
    const auto same = [](const Tensor& got, const Tensor& wanted) {
        const auto x = got.to_vector<double>(), w = wanted.to_vector<double>();
        REQUIRE_EQ(x.size(), w.size());
        for (std::size_t i = 0; i < x.size(); ++i) CHECK_EQ(x[i], doctest::Approx(w[i]));
    };
    same(slopes.at(0), matmul(u, b) + matmul(a, v));
    same(slopes.at(1), cos(a) * u);
    same(slopes.at(2), constant * 0.0);
    check_throws<ShapeError>([&] { jvp(tape, {y}, {a}, {v}); },
                             "jvp: direction 0 is [3, 2], the tensor [2, 3]");
    check_throws<ShapeError>(
        [&] {
            jvp(tape, {y}, {a, b}, {u});
        },
        "jvp: 1 directions for 2 tensors");
}

TEST_CASE("gradcheck: other oracles alone") {
    const auto f = [](const Tensors& x) { return test::tanh_times(x[0], 1.5); };
    const DualFunction dual = [](const std::vector<std::vector<Dual>>& x) {
        std::vector<Dual> y;
        for (const Dual& value : x[0]) y.push_back(tanh(value));
        return y;
    };
    const GradcheckReport report =
        gradcheck(f, {random({4})}, {.differences = false, .dual = dual});
    CHECK_EQ(report.verdict, Verdict::fail);
    CHECK_EQ(report.inputs.at(0).method, "other oracles only");
    check_throws<ValueError>(
        [&] { gradcheck(f, {random({4})}, {.differences = false}); },
        "gradcheck: without differences, dual numbers or the transpose must be enabled");
}
