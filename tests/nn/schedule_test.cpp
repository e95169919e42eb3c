// Learning rates at the steps that matter.
#include <tapestry/nn/optim/schedule.h>
#include <tapestry/tests/core/support.h>

#include <cmath>

using namespace tapestry;
using doctest::Approx;
using test::check_throws;

TEST_CASE("schedule: constant, linear, step") {
    const Schedule constant = constant_schedule(0.5);
    CHECK_EQ(constant(0), 0.5);
    CHECK_EQ(constant(1'000'000), 0.5);
    const Schedule linear = linear_schedule(1, 0.2, 4);
    const double expected[] = {1, 0.8, 0.6, 0.4, 0.2, 0.2};
    for (std::int64_t step = 0; step < 6; ++step) CHECK_EQ(linear(step), Approx(expected[step]));
    CHECK_EQ(linear(100), Approx(0.2));
    CHECK_EQ(linear_schedule(0, 1, 10)(5), 0.5);
    const Schedule steps = step_schedule(8, 0.5, 3);
    CHECK_EQ(steps(0), 8);
    CHECK_EQ(steps(2), 8);
    CHECK_EQ(steps(3), 4);
    CHECK_EQ(steps(8), 2);
    CHECK_EQ(steps(9), 1);
}

TEST_CASE("schedule: warm-up and cosine") {
    const Schedule rate =
        warmup_cosine_schedule({.rate = 1, .min_rate = 0.1, .warmup = 4, .steps = 24});
    CHECK_EQ(rate(0), 0.25);
    CHECK_EQ(rate(1), 0.5);
    CHECK_EQ(rate(3), 1);
    CHECK_EQ(rate(4), 1);
    CHECK_EQ(rate(14), Approx(0.55));  // halfway down
    CHECK_EQ(rate(9), Approx(0.1 + 0.45 * (1 + std::sqrt(0.5))));
    CHECK_EQ(rate(24), Approx(0.1));
    CHECK_EQ(rate(1000), Approx(0.1));
    for (std::int64_t step = 4; step < 24; ++step) CHECK(rate(step + 1) < rate(step));
    const Schedule no_warmup =
        warmup_cosine_schedule({.rate = 1, .min_rate = 0, .warmup = 0, .steps = 10});
    CHECK_EQ(no_warmup(0), 1);
    CHECK_EQ(no_warmup(10), Approx(0));
    const Schedule all_warmup =
        warmup_cosine_schedule({.rate = 1, .min_rate = 0, .warmup = 10, .steps = 5});
    CHECK_EQ(all_warmup(4), 0.5);
    CHECK_EQ(all_warmup(9), 1);
    CHECK_EQ(all_warmup(11), Approx(0));
}

TEST_CASE("schedule: warm-up, a level, and a fall") {
    const Schedule rate =
        trapezoid_schedule({.rate = 1, .min_rate = 0.2, .warmup = 2, .steps = 10, .cooldown = 0.4});
    const double expected[] = {0.5, 1, 1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2, 0.2};
    for (std::int64_t step = 0; step < 12; ++step) CHECK_EQ(rate(step), Approx(expected[step]));
    const Schedule all =
        trapezoid_schedule({.rate = 1, .min_rate = 0, .warmup = 5, .steps = 10, .cooldown = 1});
    CHECK_EQ(all(4), 1);
    CHECK_EQ(all(5), 1);
    CHECK_EQ(all(6), Approx(0.8));  // not before the warm-up is over
    const Schedule none =
        trapezoid_schedule({.rate = 1, .min_rate = 0, .warmup = 0, .steps = 10, .cooldown = 0});
    CHECK_EQ(none(0), 1);
    CHECK_EQ(none(9), 1);
    check_throws<ValueError>([] { trapezoid_schedule({.cooldown = 1.5}); },
                             "trapezoid_schedule: cooldown must be in [0, 1], got 1.5");
    check_throws<ValueError>([] { trapezoid_schedule({.rate = -1}); },
                             "trapezoid_schedule: learning rate must be finite and >= 0, got -1");
}

TEST_CASE("inverse_sqrt_schedule: equation 3 of Attention Is All You Need") {
    const Schedule rate = inverse_sqrt_schedule(512, 4000);
    for (const std::int64_t n : {1, 100, 3999, 4000, 4001, 100000}) {
        const auto step = static_cast<double>(n);
        const double wanted =
            std::pow(512, -0.5) * std::min(std::pow(step, -0.5), step * std::pow(4000, -1.5));
        CHECK(rate(n - 1) == doctest::Approx(wanted).epsilon(1e-12));
    }
    CHECK(rate(3999) == doctest::Approx(7.0e-4).epsilon(0.01));  // the paper's largest rate
    CHECK(rate(3998) < rate(3999));
    CHECK(rate(4000) < rate(3999));
    CHECK_EQ(inverse_sqrt_schedule(512, 4000, 2)(9), Approx(2 * rate(9)));
}

TEST_CASE("schedule: what is refused") {
    check_throws<ValueError>([] { constant_schedule(-1); },
                             "constant_schedule: learning rate must be finite and >= 0, got -1");
    CHECK_THROWS_AS(constant_schedule(NAN), ValueError);
    CHECK_THROWS_AS(linear_schedule(1, INFINITY, 5), ValueError);
    check_throws<ValueError>([] { linear_schedule(1, 0, 0); },
                             "linear_schedule: steps must be positive, got 0");
    check_throws<ValueError>([] { step_schedule(1, 0, 3); },
                             "step_schedule: factor and every must be positive, got 0 and 3");
    CHECK_THROWS_AS(step_schedule(1, 0.5, 0), ValueError);
    check_throws<ValueError>(
        [] { warmup_cosine_schedule({.warmup = -1, .steps = 10}); },
        "warmup_cosine_schedule: warmup must be >= 0 and steps positive, got -1 and 10");
    CHECK_THROWS_AS(warmup_cosine_schedule({.rate = -1}), ValueError);
    CHECK_THROWS_AS(warmup_cosine_schedule({.steps = 0}), ValueError);
    check_throws<ValueError>(
        [] { inverse_sqrt_schedule(0, 10); },
        "inverse_sqrt_schedule: dim 0, warmup 10 and factor 1 must be positive");
    CHECK_THROWS_AS(inverse_sqrt_schedule(4, 0), ValueError);
    CHECK_THROWS_AS(inverse_sqrt_schedule(4, 10, -1), ValueError);
}
