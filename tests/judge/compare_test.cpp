// Checking a leaf entry by entry or along directions, with different tolerances: all must agree on
// right and wrong.
#include <tapestry/autograd/check/compare.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/tests/judge/support.h>
#include <tapestry/tests/skip.h>

#include <cmath>

using namespace tapestry;
using namespace tapestry::checker;
using test::check_throws;
using test::contains;
using test::random;
using test::tanh_times;
using test::verdict_of;

namespace {

constexpr std::array kMethods{GradcheckMethod::jacobian, GradcheckMethod::entries,
                              GradcheckMethod::directions};

// tanh with a rule that is off at one element by `part` of its gradient.
Tensor tanh_off_at(const Tensor& x, std::int64_t at, double part) {
    return test::with_rule(
        x, [](const Tensor& t) { return tanh(t); },
        [at, part](const Tensor& g, const Tensor& t) {
            Tensor grad = g * (1.0 - square(tanh(t)));
            grad.mutable_data<double>()[at] *= 1 + part;
            return Tensors{grad};
        });
}

}  // namespace

TEST_CASE("compare: all methods agree, for any seed") {
    struct Row {
        TensorFunction f;
        Tensors inputs;
        const char* verdict;
    };
    const std::vector<Row> rows{
        {[](const Tensors& x) { return softmax(matmul(x[0], x[1])); },
         {random({2, 3}), random({3, 4}, 2)},
         "PASS"},
        {[](const Tensors& x) { return exp(x[0] * 1e3) * 1e-6; }, {random({4}) * 1e-3}, "PASS"},
        {[](const Tensors& x) { return tanh_times(x[0], 1.01); }, {random({3, 2})}, "FAIL"},
        {[](const Tensors& x) { return tanh_off_at(x[0], 7, 1e-3); }, {random({3, 5})}, "FAIL"},
        {[](const Tensors& x) { return exp(tanh_off_at(x[0], 0, 1e-5)); }, {random({3})}, "FAIL"},
        {[](const Tensors& x) { return log(x[0]); },
         {tensor<double>({-1, 2})},
         "INCONCLUSIVE (not finite)"},
    };
    for (std::size_t row = 0; row < rows.size(); ++row) {
        CAPTURE(row);
        for (const GradcheckMethod method : kMethods) {
            for (const std::uint64_t seed : {1U, 2U, 3U}) {
                if (test::is_short() && seed > 1) break;
                const GradcheckReport report =
                    gradcheck(rows[row].f, rows[row].inputs,
                              {.method = method, .explain = false, .seed = seed});
                CHECK_MESSAGE(verdict_of(report) == rows[row].verdict, to_string(report));
            }
        }
    }
}

TEST_CASE("compare: how much is looked at is said, and follows from sizes") {
    const auto method_of = [](std::int64_t inputs, GradcheckMethod method) {
        const GradcheckReport report =
            gradcheck([](const Tensors& x) { return sin(x[0]); }, {random({inputs})},
                      {.method = method, .preconditions = false});
        CHECK_EQ(verdict_of(report), "PASS");
        return fmt::format("{}; {}", report.inputs[0].method, report.inputs[0].compared);
    };
    CHECK_EQ(method_of(3, GradcheckMethod::automatic), "full Jacobian, 3 x 3; 12");
    CHECK_EQ(method_of(16, GradcheckMethod::automatic), "full Jacobian, 16 x 16; 272");
    CHECK_EQ(method_of(17, GradcheckMethod::automatic), "every entry, 17; 17");
    CHECK_EQ(method_of(256, GradcheckMethod::automatic), "every entry, 256; 256");
    CHECK_EQ(method_of(257, GradcheckMethod::automatic), "10 random directions; 10");
    CHECK_EQ(method_of(17, GradcheckMethod::jacobian), "full Jacobian, 17 x 17; 306");
    CHECK_EQ(method_of(300, GradcheckMethod::entries), "every entry, 300; 300");
    CHECK_EQ(method_of(3, GradcheckMethod::directions), "10 random directions; 10");
}

TEST_CASE("compare: certainty is a number of directions, and is printed") {
    struct Row {
        double certainty;
        int directions;
        double reached;
        const char* printed;
    };
    for (const Row& row :
         {Row{0.5, 1, 0.5, "probability 0.5 or more"}, Row{0.4, 1, 0.5, "probability 0.5 or more"},
          Row{0.9, 4, 0.9375, "probability 0.9375 or more"},
          Row{0.999, 10, 1 - 1.0 / 1024, "probability 0.999 or more"},
          Row{0.999999, 20, 1 - std::ldexp(1, -20), "probability 1 or more"}}) {
        const GradcheckReport report =
            gradcheck([](const Tensors& x) { return sin(x[0]); }, {random({5})},
                      {.method = GradcheckMethod::directions, .certainty = row.certainty});
        CHECK_EQ(report.inputs[0].compared, row.directions);
        CHECK_EQ(report.certainty, row.reached);
        CHECK_MESSAGE(contains(to_string(report), row.printed), to_string(report));
    }
    const GradcheckReport all =
        gradcheck([](const Tensors& x) { return sin(x[0]); }, {random({5})});
    CHECK_EQ(all.certainty, 1);
    CHECK_FALSE(contains(to_string(all), "probability"));
    for (const double bad : {0.0, 1.0, -1.0, 1.5}) {
        check_throws<ValueError>(
            [bad] {
                gradcheck([](const Tensors& x) { return sin(x[0]); }, {random({5})},
                          {.certainty = bad});
            },
            fmt::format("gradcheck: certainty must be between 0 and 1, got {}", bad));
    }
}

TEST_CASE("compare: a fixed step and tolerance mean what PyTorch's mean") {
    Line line([](double t) { return Sample{.values = {std::exp(1 + t), std::sin(t)}}; }, 1);
    const std::vector<double> weights{2, -3};
    const auto f = [](double t) { return 2 * std::exp(1 + t) - 3 * std::sin(t); };
    for (const double eps : {1e-6, 1e-3}) {
        Examination fixed;
        fixed.fixed = true;
        fixed.eps = eps;
        fixed.atol = 1e-4;
        fixed.rtol = 1e-2;
        const double numeric = (f(eps) - f(-eps)) / (2 * eps);
        const double tolerance = 1e-4 + 1e-2 * std::abs(numeric);
        for (const double off : {0.0, 0.999, -0.999, 1.001, -1.001}) {
            const Judgement j =
                examine(line, weights, {}, {.slope = numeric + off * tolerance}, fixed);
            CHECK_EQ(j.numeric, numeric);
            CHECK_EQ(j.tolerance, doctest::Approx(tolerance));
            CHECK_EQ(j.step, eps);
            CHECK_EQ(j.above, f(eps));
            CHECK_EQ(j.below, f(-eps));
            CHECK_EQ(to_string(j.verdict), std::abs(off) < 1 ? "PASS" : "FAIL");
        }
        CHECK_EQ(to_string(examine(line, weights, {}, {.slope = NAN}, fixed).verdict), "FAIL");
    }
}

TEST_CASE("compare: a fixed step at which f is not finite decides nothing") {
    const auto f = [](const Tensors& x) { return log(x[0]); };
    CHECK_EQ(verdict_of(gradcheck(f, {tensor<double>({1e-7})}, {.eps = 1e-6})),
             "INCONCLUSIVE (not finite)");
    CHECK_EQ(verdict_of(gradcheck(f, {tensor<double>({1})}, {.eps = 1e-6})), "PASS");
}

TEST_CASE("compare: any of eps, atol and rtol chooses the fixed test, with defaults for the rest") {
    const auto verdict = [](double factor, const GradcheckOptions& options) {
        return verdict_of(gradcheck([factor](const Tensors& x) { return tanh_times(x[0], factor); },
                                    {tensor<double>({0.1, -0.2})}, options));
    };
    CHECK_EQ(verdict(1 + 1e-4, {}), "FAIL");
    CHECK_EQ(verdict(1 + 1e-4, {.rtol = 1e-3}), "PASS");
    CHECK_EQ(verdict(1 + 1e-4, {.atol = 1e-5}), "PASS");  // rtol is 1e-3
    CHECK_EQ(verdict(1 + 1e-4, {.eps = 1e-6}), "PASS");
    CHECK_EQ(verdict(1 + 1e-2, {.eps = 1e-6}), "FAIL");
    CHECK_EQ(verdict(1 + 1e-2, {.rtol = 0.1}), "PASS");
    CHECK_EQ(verdict(1 + 1e-4, {.atol = 1e-8, .rtol = 1e-8}), "FAIL");
    CHECK_EQ(verdict(1 + 1e-6, {.rtol = 0}), "PASS");  // atol is 1e-5
    CHECK_EQ(verdict(1 + 1e-4, {.rtol = 0}), "FAIL");
    CHECK_EQ(verdict(1, {.eps = 0.5, .atol = 1e-9, .rtol = 1e-9}), "FAIL");  // the step is too long
    for (const GradcheckMethod method : kMethods) {
        CHECK_EQ(verdict(1 + 1e-4, {.method = method, .rtol = 1e-3}), "PASS");
        CHECK_EQ(verdict(1 + 1e-2, {.method = method, .rtol = 1e-3}), "FAIL");
    }
}

TEST_CASE("compare: the size of numbers, and the names of elements") {
    CHECK_EQ(typical_size({4, -3, 0, 0}), 3);
    std::vector<double> many;
    for (int i = 20; i > 0; --i) many.push_back(i % 2 == 0 ? i : -i);
    CHECK_EQ(typical_size(many), 3);  // two of twenty are smaller
    CHECK_EQ(typical_size({0, 0}), 1);
    CHECK_EQ(typical_size({}), 1);
    CHECK_EQ(index_text({2, 3}, 5), "[1, 2]");
    CHECK_EQ(index_text({}, 0), "[]");
}
