// Oracles other than differences: the same function in dual numbers, and the rules against their
// own transpose. The report names a dissenting oracle.
#include <tapestry/tests/judge/support.h>

#include <cmath>

using namespace tapestry;
using test::check_passes;
using test::check_throws;
using test::random;
using test::sine_with;
using test::verdict_of;

namespace {

using Duals = std::vector<Dual>;

Duals dual_sine(const std::vector<Duals>& x) {
    Duals y;
    for (const Dual& value : x.at(0)) y.push_back(sin(value));
    return y;
}

// sin(x) + tilt x, with slopes `factor` times those of sin.
DualFunction dual_with(double tilt, double factor) {
    return [tilt, factor](const std::vector<Duals>& x) {
        Duals y;
        for (const Dual& value : x.at(0)) {
            const Dual sine = sin(value);
            y.emplace_back(sine.value + tilt * value.value, factor * sine.slope);
        }
        return y;
    };
}

Tensors right_rule(const Tensor& g, const Tensor& x) { return {g * cos(x)}; }
Tensors wrong_rule(const Tensor& g, const Tensor& x) { return {g * cos(x) * 1.5}; }

}  // namespace

TEST_CASE("oracles: all agree") {
    const Tensors x{random({3})};
    const GradcheckReport report =
        gradcheck(sine_with(right_rule), x, {.dual = dual_sine, .transpose = true});
    check_passes(report);
    REQUIRE_EQ(report.inputs[0].opinions.size(), 2);
    CHECK_EQ(report.inputs[0].opinions[0].oracle, "dual numbers");
    CHECK_EQ(report.inputs[0].opinions[1].oracle, "transpose");
    for (const Opinion& opinion : report.inputs[0].opinions) {
        CHECK(opinion.agrees);
        CHECK_LT(opinion.tolerance, 1e-9);
    }
    // Two inputs, each with its own direction.
    const DualFunction product = [](const std::vector<Duals>& in) {
        Duals y;
        for (std::size_t i = 0; i < in[0].size(); ++i) y.push_back(in[0][i] * sin(in[1][i]));
        return y;
    };
    check_passes(gradcheck([](const Tensors& t) { return t[0] * sin(t[1]); },
                           {random({3}), random({3}, 2)}, {.dual = product}));
}

TEST_CASE("oracles: who stands alone") {
    const Tensors x{random({3})};
    GradcheckReport report = gradcheck(sine_with(wrong_rule), x, {.dual = dual_sine});
    CHECK_EQ(verdict_of(report), "FAIL");
    CHECK_EQ(test::complaints_of(report),
             "input 0: the tape disagrees with differences and dual numbers");

    report = gradcheck(sine_with(right_rule), x, {.dual = dual_with(0, 1.5)});
    CHECK_EQ(verdict_of(report), "FAIL");
    CHECK_EQ(test::complaints_of(report),
             "input 0: dual numbers against the tape and the differences");
    REQUIRE_EQ(report.inputs.at(0).opinions.size(), 1);
    CHECK_FALSE(report.inputs[0].opinions[0].agrees);

    const auto wrong_forward = [](const Tensors& t) {
        return test::with_rule(
            t[0], [](const Tensor& u) { return sin(u) + 0.5 * u; }, right_rule);
    };
    report = gradcheck(wrong_forward, x, {.dual = dual_with(0.5, 1)});
    CHECK_EQ(verdict_of(report), "FAIL");
    CHECK_EQ(test::complaints_of(report),
             "input 0: only the differences disagree: tape and dual numbers agree, so look at the "
             "forward pass");
}

TEST_CASE("oracles: dual numbers of another function are found by their values") {
    const Tensors x{tensor<double>({0.5, 0.25})};
    const GradcheckReport report = gradcheck(sine_with(right_rule), x, {.dual = dual_with(2, 1)});
    CHECK_EQ(verdict_of(report), "FAIL");
    REQUIRE_EQ(report.complaints.size(), 1);
    CHECK_EQ(report.complaints[0],
             fmt::format("the dual numbers are of another function: output element 0 is {:.10g} "
                         "there, {:.10g} here",
                         std::sin(0.5) + 1, std::sin(0.5)));
}

TEST_CASE("oracles: a rule that is not linear, or that records itself wrongly") {
    // Right for the weights that the checker uses, and only for those.
    const auto detached =
        sine_with([](const Tensor& g, const Tensor& x) { return Tensors{g.detach() * cos(x)}; });
    check_passes(gradcheck(detached, {random({3})}));
    const GradcheckReport report = gradcheck(detached, {random({3})}, {.transpose = true});
    CHECK_EQ(verdict_of(report), "FAIL");
    CHECK_EQ(test::complaints_of(report),
             "input 0: transpose against the tape and the differences");
    CHECK_EQ(verdict_of(gradgradcheck(detached, {random({3})})), "FAIL");
}

TEST_CASE("oracles: a dual function of another size is refused") {
    check_throws<ShapeError>(
        [] {
            gradcheck([](const Tensors& x) { return sin(x[0]); }, {random({3})},
                      {.dual = [](const std::vector<Duals>&) { return Duals(2); }});
        },
        "gradcheck: the dual function gave 2 numbers for 3 outputs");
}

TEST_CASE("dual numbers: slopes are those of calculus") {
    const double x = 0.7;
    const Dual d(x, 1);
    const auto slope = [](const Dual& y) { return doctest::Approx(y.slope).epsilon(1e-15); };
    CHECK_EQ(std::exp(x), slope(exp(d)));
    CHECK_EQ(1 / x, slope(log(d)));
    CHECK_EQ(0.5 / std::sqrt(x), slope(sqrt(d)));
    CHECK_EQ(std::cos(x), slope(sin(d)));
    CHECK_EQ(-std::sin(x), slope(cos(d)));
    CHECK_EQ(1 - std::tanh(x) * std::tanh(x), slope(tanh(d)));
    CHECK_EQ(2 / std::sqrt(std::acos(-1.0)) * std::exp(-x * x), slope(erf(d)));
    CHECK_EQ(-1.0, slope(abs(-d) - 2.0 * d));
    CHECK_EQ(3 * x * x, slope(pow(d, Dual(3))));
    CHECK_EQ(std::pow(3, x) * std::log(3), slope(pow(Dual(3), d)));
    CHECK_EQ(2 * x, slope(d * d));
    CHECK_EQ(-1 / (x * x), slope(Dual(1) / d));
}
