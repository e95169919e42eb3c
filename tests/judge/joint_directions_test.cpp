// Directions along which the entries of all classes of sizes move at once: how few a right gradient
// needs, and that what they state is true.
#include <tapestry/autograd/check/plain.h>
#include <tapestry/core/random.h>
#include <tapestry/tests/judge/plain_cases.h>

#include <cmath>

using namespace tapestry;
using namespace tapestry::test;

namespace {

using Plain = std::vector<double>;

Plain numbers(std::size_t n) {
    Generator generator(11);
    Plain x(n);
    for (double& value : x) value = 0.5 + generator.uniform();
    return x;
}

// Of the i-th number, in two classes of sizes.
double size_of_term(std::size_t i) { return i % 2 == 0 ? 1 : 1e-4; }

double waves(const Plain& x) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += size_of_term(i) * std::sin(x[i]);
    return sum;
}

struct Wrong {
    std::size_t at = 0, other = 0;
    double by = 0;
};

PlainGradient slopes_of_waves(const Wrong& wrong = {}) {
    return [wrong](const Plain& x) {
        Plain slopes(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) slopes[i] = size_of_term(i) * std::cos(x[i]);
        const double off = wrong.by * slopes[wrong.at];
        slopes[wrong.at] += off;
        if (wrong.other != wrong.at) slopes[wrong.other] -= off * x[wrong.at] / x[wrong.other];
        return slopes;
    };
}

Plain halves(const Plain& x) {
    Plain y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = (i % 2 == 0 ? 1 : 1e-5) * std::exp(x[i]);
    return y;
}

Plain slopes_of_halves(const Plain& x, const Plain& g) {
    Plain slopes = halves(x);
    for (std::size_t i = 0; i < x.size(); ++i) slopes[i] *= g[i];
    return slopes;
}

}  // namespace

TEST_CASE("joint directions: a right gradient needs few, for all classes of sizes at once") {
    for (const std::size_t n : {257U, 3000U}) {
        CAPTURE(n);
        const GradcheckReport report = check_gradient(waves, slopes_of_waves(), numbers(n));
        CHECK_EQ(verdict_of(report), "PASS");
        CHECK_EQ(report.inputs[0].classes.size(), 2);
        CHECK_LT(report.runs, 130);  // 10 directions in each of 2 classes: 140 and more
        for (const ClassReport& one : report.inputs[0].classes) CHECK_LT(one.resolution, 1e-3);
    }
}

TEST_CASE("joint directions: outputs of other classes depend on other entries") {
    const GradcheckReport report = check_pullback(halves, slopes_of_halves, numbers(3000));
    CHECK_EQ(verdict_of(report), "PASS");
    CHECK_EQ(report.inputs[0].method, "3 random directions for 4 classes of sizes");
    CHECK_LT(report.runs, 130);  // 10 directions in each of 4 classes: 260
    const auto other_outputs = [](const Plain& x, const Plain& g) {
        Plain slopes = slopes_of_halves(x, g);
        slopes[1000] += 1e-9 * g[1001];  // of an output 1e-5 as large
        return slopes;
    };
    CHECK_EQ(verdict_of(check_pullback(halves, other_outputs, numbers(3000))), "FAIL");
}

TEST_CASE("joint directions: what is stated grows with the certainty") {
    const Plain x = numbers(600);
    const auto resolution = [&](double certainty) {
        const GradcheckReport report =
            check_gradient(waves, slopes_of_waves(), x, {.certainty = certainty});
        return report.inputs[0].classes.at(0).resolution;
    };
    // Ten random signs, then twenty: what three directions agree to, times 2^(10/3) and 2^(20/3).
    const double ratio = resolution(0.999999) / resolution(0.999);
    CHECK_GT(ratio, 10.0);
    CHECK_LT(ratio, 10.2);
}

TEST_CASE("joint directions: whole periods of all steps hide no slope") {
    constexpr double kTurn = 6.283185307179586;
    const auto ripples = [](const Plain& x) {
        double sum = 0;
        for (const double one : x) sum += one + 1e-3 * std::sin(0x1p25 * kTurn * (one - 1));
        return sum;
    };
    const auto ones = [](const Plain& x) { return Plain(x.size(), 1.0); };  // true: 2e5
    CHECK_EQ(check_gradient(ripples, ones, Plain(300, 1.0)).verdict, Verdict::inconclusive);
}

TEST_CASE("joint directions: what is stated for a class is true of each of its entries") {
    const Plain x = numbers(600);
    const GradcheckReport right = check_gradient(waves, slopes_of_waves(), x);
    REQUIRE_EQ(right.inputs[0].classes.size(), 2);
    for (const std::size_t entry : {300U, 301U}) {
        const double stated = right.inputs[0].classes[entry % 2].resolution;
        for (const double times : {3.0, 30.0}) {
            CAPTURE(entry);
            CAPTURE(times);
            const double by = std::max(1e-6, times * stated);
            for (const std::size_t other : {entry, entry + 30}) {
                const auto wrong = slopes_of_waves({entry, other, by});
                const GradcheckReport report = check_gradient(waves, wrong, x);
                if (times == 30 && other == entry) CHECK_EQ(verdict_of(report), "FAIL");
                if (report.verdict != Verdict::pass) continue;
                CHECK_GE(report.inputs[0].classes.at(entry % 2).resolution, by);
            }
        }
    }
}

TEST_CASE("joint directions: few small entries take few signs, which tell each of them") {
    constexpr double kSmall = 3e-6;
    const Plain x = numbers(600);
    for (const std::size_t few : {1U, 3U, 8U}) {
        CAPTURE(few);
        const auto f = [few](const Plain& at) {
            double sum = 0;
            for (std::size_t i = 0; i < at.size(); ++i)
                sum += (i < few ? kSmall : 1) * std::sin(at[i]);
            return sum;
        };
        const auto slopes = [few](double first, double last) {
            return [=](const Plain& at) {
                Plain d(at.size());
                for (std::size_t i = 0; i < at.size(); ++i)
                    d[i] = (i < few ? kSmall : 1) * std::cos(at[i]);
                d[0] *= 1 + first;
                d[few - 1] += kSmall * last;
                return d;
            };
        };
        const GradcheckReport right = check_gradient(f, slopes(0, 0), x);
        CHECK_EQ(verdict_of(right), "PASS");
        CHECK_LT(right.runs, 130);  // with ten random signs in each: 150 and more
        const double stated = right.inputs[0].resolution;
        CHECK_LT(stated, 1e-3);
        for (const double last : {0.0, -3 * stated}) {
            if (last != 0 && few == 1) continue;  // both are in one entry, and cancel
            const GradcheckReport wrong = check_gradient(f, slopes(3 * stated, last), x);
            CHECK((wrong.verdict != Verdict::pass || wrong.inputs[0].resolution > 2 * stated));
        }
    }
}

TEST_CASE("joint directions: a long sum rounds more than its last bits, and is seen by fits") {
    constexpr std::size_t kMany = 60'000;
    const Plain x = drawn(5, kMany);
    const auto f = [](const Plain& at) {
        double sum = 0;
        for (const double one : at) sum += one * std::sin(one);
        return sum;
    };
    const auto slopes = [](const Plain& at) {
        Plain d(at.size());
        for (std::size_t i = 0; i < at.size(); ++i)
            d[i] = std::sin(at[i]) + at[i] * std::cos(at[i]);
        return d;
    };
    const GradcheckReport right = check_gradient(f, slopes, x);
    INFO(right.inputs[0].method << ", " << right.runs);
    CHECK_EQ(verdict_of(right), "PASS");
    CHECK_LT(right.runs, 400);  // by ten random signs for each class: 560
}
