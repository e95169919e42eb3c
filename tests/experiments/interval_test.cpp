// Intervals over seeds, and the verdicts that follow from them.
#include <tapestry/core/error.h>
#include <tapestry/core/random.h>
#include <tapestry/examples/school/experiments/claim.h>
#include <tapestry/examples/school/experiments/experiment.h>

#include <doctest/doctest.h>

#include <cmath>

using namespace tapestry::experiments;

TEST_CASE("Student's interval") {
    // t of 4 degrees of freedom is 2.776; the standard deviation of 1 .. 5 is sqrt(2.5)
    const Interval five = student({1, 2, 3, 4, 5});
    CHECK_EQ(five.mean, 3);
    CHECK_EQ(five.count, 5);
    CHECK(five.half_width() ==
          doctest::Approx(2.776 * std::sqrt(2.5) / std::sqrt(5)).epsilon(1e-9));
    // Quantiles beyond the internal table, from printed tables: t of 10, 19 and 100.
    for (const auto& [n, t] : {std::pair{11, 2.228}, {20, 2.093}, {101, 1.984}}) {
        std::vector<double> values;
        for (int i = 0; i < n; ++i) values.push_back(i % 2 == 0 ? 1 : -1);
        double squares = 0;
        const double mean = n % 2 == 0 ? 0 : 1.0 / n;
        for (const double value : values) squares += (value - mean) * (value - mean);
        const double error = std::sqrt(squares / (n - 1) / n);
        CHECK(student(values).half_width() / error == doctest::Approx(t).epsilon(5e-4));
    }
    CHECK(std::isinf(student({7}).half_width()));
    CHECK_THROWS_AS(student({}), tapestry::ValueError);
}

TEST_CASE("Wilson's interval knows that ten of ten is not certainty") {
    const Interval all = share(10, 10);
    CHECK_EQ(all.mean, 1);
    CHECK(all.low == doctest::Approx(0.7225).epsilon(1e-4));
    CHECK(all.high == doctest::Approx(1).epsilon(1e-12));
    const Interval half = share(50, 100);
    CHECK(half.low == doctest::Approx(0.4038).epsilon(1e-3));
    CHECK(half.high == doctest::Approx(0.5962).epsilon(1e-3));
    CHECK_THROWS_AS(share(2, 1), tapestry::ValueError);
    CHECK_THROWS_AS(share(0, 0), tapestry::ValueError);
}

TEST_CASE("what is paired must be of one length") {
    CHECK_EQ(differences({3, 4}, {1, 1}), std::vector<double>{2, 3});
    CHECK_EQ(ratios({3, 4}, {2, 8}), std::vector<double>{1.5, 0.5});
    CHECK_THROWS_AS(differences({1}, {1, 2}), tapestry::ValueError);
}

TEST_CASE("a verdict needs the whole interval on one side") {
    const Interval i{{5, 4, 6, 10}};
    CHECK_EQ(judge(above(3), i), Verdict::holds);
    CHECK_EQ(judge(above(5), i), Verdict::not_shown);
    CHECK_EQ(judge(above(6), i), Verdict::does_not_hold);
    CHECK_EQ(judge(below(7), i), Verdict::holds);
    CHECK_EQ(judge(below(4), i), Verdict::does_not_hold);
    CHECK_EQ(judge(between(3, 7), i), Verdict::holds);
    CHECK_EQ(judge(between(5, 7), i), Verdict::not_shown);
    CHECK_EQ(judge(between(7, 8), i), Verdict::does_not_hold);
    CHECK_EQ(judge(above(-1e9), student({1})), Verdict::not_shown);  // one seed shows nothing
    CHECK_EQ(judge(below(1), exactly(0)), Verdict::holds);
    CHECK_EQ(judge(below(1), unmeasured()), Verdict::not_shown);
    CHECK_EQ(text_of(between(0.9, 1.1)), "between 0.9 and 1.1");
}

namespace {

// Student's interval of ten values whose mean is t standard errors above 0.
Interval ten_values(double t) { return {{t, t - 2.262, t + 2.262, 10}}; }

}  // namespace

TEST_CASE("p-values: tables of Student's distribution, and shares") {
    const auto tails = [](double t, std::int64_t n) {  // by the interval of n values
        const double quantile = student(std::vector<double>(static_cast<std::size_t>(n), 0)).low;
        CHECK_EQ(quantile, 0);
        std::vector<double> values(static_cast<std::size_t>(n), 0);
        values[0] = 1, values[1] = -1;  // mean 0; its error is sqrt(2 / (n - 1) / n)
        const double error = std::sqrt(2.0 / static_cast<double>(n - 1) / static_cast<double>(n));
        return p_value(above(-t * error), student(values));
    };
    CHECK_EQ(tails(1, 2), doctest::Approx(0.5).epsilon(1e-3));
    CHECK_EQ(tails(1, 3), doctest::Approx(0.42265).epsilon(1e-3));
    CHECK_EQ(tails(3, 4), doctest::Approx(0.05767).epsilon(1e-3));
    CHECK_EQ(tails(2.262, 10), doctest::Approx(0.05).epsilon(2e-3));
    CHECK_EQ(tails(2, 11), doctest::Approx(0.07339).epsilon(2e-3));
    CHECK_EQ(tails(2.75, 31), doctest::Approx(0.01).epsilon(1e-2));
    CHECK_EQ(p_value(above(0.5), share(10, 10)), doctest::Approx(0.001565).epsilon(1e-3));
    CHECK_EQ(p_value(below(0.5), share(10, 10)), doctest::Approx(0.001565).epsilon(1e-3));
    CHECK_EQ(p_value(above(1), student({7})), 1);
    CHECK_EQ(p_value(above(1), unmeasured()), 1);
    CHECK_EQ(p_value(above(1), exactly(2)), 0);
    // Inside two bounds, the nearer decides; outside, the one that it breaks.
    CHECK_EQ(p_value(between(0, 100), ten_values(3)), p_value(above(0), ten_values(3)));
    CHECK_EQ(p_value(between(1, 2), ten_values(5)), p_value(below(2), ten_values(5)));
}

TEST_CASE("the chance of the same verdict: as often as draws give it") {
    CHECK_EQ(p_of_same_verdict(above(1), exactly(2)), 1);
    CHECK_EQ(p_of_same_verdict(above(1), student({7})), 1);  // one value never shows anything
    const doctest::Approx half = doctest::Approx(0.5).epsilon(0.01);  // on the edge
    CHECK_EQ(p_of_same_verdict(above(0), ten_values(2.263)), half);
    CHECK_EQ(p_of_same_verdict(below(0), ten_values(2.263)), half);
    CHECK(p_of_same_verdict(above(0), ten_values(12)) > 0.999);
    CHECK_EQ(p_of_same_verdict(above(0.5), share(50, 100)), doctest::Approx(0.83).epsilon(0.02));
    CHECK_EQ(Judged{above(0), ten_values(2.3), true}.again(), 1);

    // Any true mean before the first ten values, ten others after them, of the same spread.
    const Rule rule = between(0, 1);
    constexpr int kPairs = 4000;
    tapestry::Generator generator(3);
    double expected = 0, again = 0;
    for (int i = 0; i < kPairs; ++i) {
        const double mean = 3 * generator.uniform() - 1;
        const auto ten = [&] {
            std::vector<double> values(10, mean);
            for (double& value : values) {
                for (int k = 0; k < 12; ++k) value += (generator.uniform() - 0.5) / 2;
            }
            return student(values);
        };
        const Interval first = ten(), other = ten();
        expected += p_of_same_verdict(rule, first);
        again += judge(rule, first) == judge(rule, other) ? 1 : 0;
    }
    CHECK_EQ(again / kPairs, doctest::Approx(expected / kPairs).epsilon(0.03));
}

TEST_CASE("verdicts on many claims: corrected by Holm's method") {
    const Judged weak{above(0), ten_values(2.5)};  // p = 0.034
    const Judged strong{above(0), ten_values(8)};  // p = 2e-5
    const Judged wrong{below(0), ten_values(8)};
    CHECK_EQ(judge_together({weak}), std::vector{Verdict::holds});
    CHECK_EQ(judge_together({weak, strong}), std::vector{Verdict::holds, Verdict::holds});
    CHECK_EQ(judge_together({weak, wrong, weak}),
             std::vector{Verdict::not_shown, Verdict::does_not_hold, Verdict::not_shown});
    // What is computed exactly counts for nothing, and stays.
    CHECK_EQ(judge_together({weak, {above(0), exactly(1)}, {above(2), exactly(1)}}),
             std::vector{Verdict::holds, Verdict::holds, Verdict::does_not_hold});
    CHECK(judge_together({}).empty());
}

TEST_CASE("trials: every seed of each, in order, regardless of which runs first") {
    const auto square = [](std::uint64_t seed) -> Measured {
        const auto x = static_cast<double>(seed);
        return {{{"square", x * x}}, {{"line", {x, 2 * x}}}};
    };
    const Outcomes outcomes = run_trials({{"one", square}, {"two", square, true}}, 3, 4);
    for (const char* name : {"one", "two"}) {
        CHECK_EQ(outcomes.values(name, "square"), std::vector<double>{9, 16, 25, 36});
        CHECK_EQ(outcomes.curve(name, "line").mean, std::vector<double>{4.5, 9});
    }
    CHECK_EQ(outcomes.of("one", "square").mean, 21.5);
    CHECK_THROWS_WITH_AS(outcomes.of("three", "square"),
                         "no trial is called 'three'; there are one; two", tapestry::ValueError);
    CHECK_THROWS_WITH_AS(outcomes.of("one", "cube"), "trial 'one' has no number 'cube'",
                         tapestry::ValueError);
}

TEST_CASE("values that are all the same have no spread, and are not counted") {
    const Interval same = student(std::vector<double>(10, 0.7));
    CHECK_EQ(same.mean, 0.7);  // exactly: ten times a tenth of it is less
    CHECK_EQ(same.half_width(), 0);
    CHECK(is_same_in_all(same));
    CHECK(is_same_in_all({{1 - 1e-16, 1 - 3e-16, 1 + 1e-16, 10}}));
    CHECK_FALSE(is_same_in_all({{1, 0.999, 1.001, 10}}));
    CHECK_FALSE(is_same_in_all(exactly(1)));
    CHECK_FALSE(is_same_in_all(student({1})));
    // The sign test: ten heads in a row.
    CHECK_EQ(p_value(above(0.5), same), std::pow(2.0, -9));
    CHECK_EQ(p_value(below(0.5), same), std::pow(2.0, -9));
    CHECK_EQ(p_value(above(0.7), same), 1);
    CHECK_EQ(values_needed(above(0.5), same, 0.05 / 150), 13);
    // Fewer than six show nothing, nor do any at the bound itself: p is 0.0625 for five.
    for (const std::size_t n : {2UL, 5UL, 6UL}) {
        const Interval few = student(std::vector<double>(n, 0.7));
        INFO(n);
        CHECK_EQ(judge(above(0.5), few), n < 6 ? Verdict::not_shown : Verdict::holds);
        CHECK_EQ(judge(below(0.5), few), n < 6 ? Verdict::not_shown : Verdict::does_not_hold);
        CHECK_EQ(judge(above(0.7), few), Verdict::not_shown);
        CHECK_EQ(judge_together({{above(0.5), few}}), std::vector{judge(above(0.5), few)});
    }
    // Its verdict is that of these values; 200 others change nothing, and it does not change
    // theirs.
    std::vector<Judged> claims(20, {above(0), ten_values(0.1)});
    claims.push_back({above(0.5), same});
    CHECK_EQ(judge_together(claims).back(), Verdict::holds);
    const Judged weak{above(0), ten_values(2.5)};
    CHECK_EQ(judge_together({weak, {above(0.5), same}}),
             std::vector{Verdict::holds, Verdict::holds});
}

TEST_CASE("curves of all seeds: means and intervals, as JSON keeps them") {
    const auto line = [](std::uint64_t seed) -> Measured {
        const auto x = static_cast<double>(seed);
        return {{{"x", x}}, {{"line", {x / 3, 100 * x, 7}}}};
    };
    const Outcomes outcomes = run_trials({{"one", line}}, 1, 3);
    const Curve& curve = outcomes.curve("one", "line");
    CHECK_EQ(curve.mean, std::vector<double>{0.66667, 200, 7});
    CHECK_EQ(curve.half_width, std::vector<double>{0.82811, 248.43, 0});  // 4.303 s / sqrt(3)
    CHECK_THROWS_WITH_AS(outcomes.curve("one", "circle"), "trial 'one' has no curve 'circle'",
                         tapestry::ValueError);
    CHECK(std::isnan(run_trials({{"one", line}}, 1, 1).curve("one", "line").half_width[0]));
}
