// Limits of a check: a number of evaluations, a number of seconds.
#include <tapestry/tests/judge/solver_cases.h>

#include <chrono>
#include <cmath>
#include <thread>

using namespace tapestry;
using test::check_throws;
using test::verdict_of;
using Plain = std::vector<double>;

namespace {

double sum_of_sines(const Plain& x) {
    double sum = 0;
    for (const double a : x) sum += std::sin(a);
    return sum;
}

PlainGradient slopes_wrong_at(std::size_t wrong) {
    return [wrong](const Plain& x) {
        Plain g;
        for (std::size_t i = 0; i < x.size(); ++i)
            g.push_back(std::cos(x[i]) * (i == wrong ? 2 : 1));
        return g;
    };
}

Plain some(std::size_t n) {
    Plain x;
    for (std::size_t i = 0; i < n; ++i) x.push_back(0.3 + 0.01 * static_cast<double>(i));
    return x;
}

constexpr std::size_t kNone = 1000;

}  // namespace

TEST_CASE("limits: evaluations") {
    int calls = 0;
    const auto f = [&calls](const Plain& x) {
        ++calls;
        return sum_of_sines(x);
    };
    const Plain x = some(50);
    const GradcheckOptions limited{.limits = {.evaluations = 100}};
    const GradcheckReport report = check_gradient(f, slopes_wrong_at(kNone), x, limited);
    CHECK_EQ(verdict_of(report), "INCONCLUSIVE (limit reached)");
    CHECK_EQ(report.limit, "the limit of 100 evaluations");
    CHECK_EQ(report.runs, 100);
    CHECK_LE(calls, 100 + 2);  // calls that determine f's output sizes are not counted
    const InputReport& input = report.inputs.at(0);
    CHECK_GT(input.compared, 5);
    CHECK_LT(input.compared, 50);
    CHECK(test::contains(to_string(report), "\n  stopped at the limit of 100 evaluations"));
    CHECK(test::contains(
        to_string(report),
        fmt::format("(limit reached); {} slopes compared before that", input.compared)));
    // A sufficient limit changes nothing.
    const GradcheckReport enough =
        check_gradient(f, slopes_wrong_at(kNone), x, {.limits = {.evaluations = 5000}});
    CHECK_EQ(verdict_of(enough), "PASS");
    CHECK(enough.limit.empty());
}

TEST_CASE("limits: what was seen to be wrong before stays wrong") {
    const GradcheckOptions limited{.limits = {.evaluations = 250}};
    const auto first = check_gradient(sum_of_sines, slopes_wrong_at(0), some(50), limited);
    CHECK_EQ(verdict_of(first), "FAIL");
    CHECK_EQ(first.limit, "the limit of 250 evaluations");
    const auto last = check_gradient(sum_of_sines, slopes_wrong_at(49), some(50), limited);
    CHECK_EQ(verdict_of(last), "INCONCLUSIVE (limit reached)");
}

TEST_CASE("limits: a claim that is off by as little as a solver does not fail before all is seen") {
    const test::Case few = test::jacobi(6, 8, 1);
    const Plain x = some(300), errors = test::drawn(7, x.size(), -1e-6, 1e-6);
    const auto garbled = [&errors](const Plain& at) {
        Plain g = slopes_wrong_at(kNone)(at);
        for (std::size_t i = 0; i < g.size(); ++i) g[i] *= 1 + errors[i];
        return g;
    };
    for (const test::Case& one : {few, test::Case{sum_of_sines, garbled, x}}) {
        CAPTURE(one.x.size());
        const GradcheckReport whole = check_gradient(one.f, one.gradient, one.x);
        CHECK_EQ(whole.verdict, Verdict::inconclusive);
        for (int tenths = 1; tenths < 10; ++tenths) {
            const GradcheckOptions limited{.limits = {.evaluations = tenths * whole.runs / 10}};
            CHECK_EQ(check_gradient(one.f, one.gradient, one.x, limited).verdict,
                     Verdict::inconclusive);
        }
    }
}

TEST_CASE("limits: of several leaves the later ones are not looked at, and all are put back") {
    const Tensor a = test::random({40}, 3).set_requires_grad();
    const Tensor b = test::random({5}, 4).set_requires_grad();
    const Plain before = test::values(a);
    const auto f = [&] { return sum(sin(a)) + sum(sin(b)); };
    for (const int most : {1, 2, 3, 10, 30}) {
        const GradcheckReport report =
            gradcheck(f, NamedTensors{{"a", a}, {"b", b}}, {.limits = {.evaluations = most}});
        CHECK_EQ(verdict_of(report), "INCONCLUSIVE (limit reached)");
        REQUIRE_EQ(report.inputs.size(), 2);
        CHECK_EQ(report.inputs[1].method, "not looked at");
        CHECK_EQ(report.inputs[1].compared, 0);
        CHECK_EQ(test::values(a), before);
    }
    CHECK_EQ(verdict_of(gradgradcheck(f, NamedTensors{{"a", a}, {"b", b}},
                                      {.limits = {.evaluations = 20}})),
             "INCONCLUSIVE (limit reached)");
}

TEST_CASE("limits: those of gradgradcheck are of the whole check") {
    int calls = 0;
    const TensorFunction f = [&calls](const Tensors& x) {
        ++calls;
        return sum(sin(x[0]));
    };
    const Tensors x{test::random({3})};
    const int all = gradgradcheck(f, x).runs;
    CHECK_LE(calls - all, 2);  // calls that determine sizes are not counted
    const auto with = [&](int evaluations) {
        return gradgradcheck(f, x, {.limits = {.evaluations = evaluations}});
    };
    CHECK_EQ(verdict_of(with(all)), "PASS");
    const GradcheckReport less = with(all - 1);
    CHECK_EQ(verdict_of(less), "INCONCLUSIVE (limit reached)");
    CHECK_EQ(less.runs, all - 1);
}

TEST_CASE("limits: seconds") {
    const auto slow = [](const Plain& x) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return sum_of_sines(x);
    };
    const auto start = std::chrono::steady_clock::now();
    const GradcheckReport report =
        check_gradient(slow, slopes_wrong_at(kNone), some(200), {.limits = {.seconds = 0.1}});
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    CHECK_EQ(verdict_of(report), "INCONCLUSIVE (limit reached)");
    CHECK_EQ(report.limit, "the limit of 0.1 seconds");
    CHECK_GE(passed.count(), 0.1);
    CHECK_LE(report.runs, 60);
}

TEST_CASE("limits: what is refused") {
    const auto with = [](const GradcheckLimits& limits) {
        return [limits] {
            check_gradient(sum_of_sines, slopes_wrong_at(kNone), {1}, {.limits = limits});
        };
    };
    check_throws<ValueError>(with({.evaluations = 0}),
                             "gradcheck: limits.evaluations must be positive, got 0");
    check_throws<ValueError>(with({.seconds = -1}),
                             "gradcheck: limits.seconds must be positive, got -1");
    check_throws<ValueError>(with({.seconds = std::nan("")}),
                             "gradcheck: limits.seconds must be positive, got nan");
    check_throws<ValueError>(with({.resolution = 0}),
                             "gradcheck: limits.resolution must be positive, got 0");
    check_throws<ValueError>(with({.safety = -1}),
                             "gradcheck: limits.safety must be positive, got -1");
    const auto by = [](const GradcheckOptions& options) {
        return [options] { check_gradient(sum_of_sines, slopes_wrong_at(kNone), {1}, options); };
    };
    check_throws<ValueError>(by({.eps = 0}), "gradcheck: eps must be positive, got 0");
    check_throws<ValueError>(by({.atol = -1}), "gradcheck: atol must be 0 or more, got -1");
    check_throws<ValueError>(by({.noise = -1}), "gradcheck: noise must be 0 or more, got -1");
}
