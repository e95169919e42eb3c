// Read examples/school/experiments/quadratic_cost.cpp first. Counts and memory are exact; times are
// not asserted, because the machine may be busy.
#include <tapestry/examples/school/experiments/attention_costs.h>
#include <tapestry/examples/school/experiments/least_squares.h>
#include <tapestry/tests/experiments/support.h>
#include <tapestry/tests/skip.h>

#include <cmath>
#include <stdexcept>

using namespace tapestry::experiments;

TEST_CASE("experiment quadratic_cost") {
    const Report report = run_quick("quadratic_cost");
    const Table& exponents = report.tables.at(0);
    REQUIRE_EQ(exponents.rows.size(), 10);
    for (const auto& row : exponents.rows) {
        const std::string& form = row[0].text;
        CAPTURE(form);
        CHECK(exponents.number(form, "operations") ==
              doctest::Approx(exponents.number(form, "theory")).epsilon(0.1));
        CHECK(exponents.number(form, "memory of tensors") ==
              doctest::Approx(exponents.number(form, "theory of memory")).epsilon(0.2));
    }
    // Not shown: the forms omitted by the short run.
    check_verdicts("quadratic_cost", report,
                   {{"time_is_quadratic", std::nullopt},
                    {"linear_forms_are_linear", std::nullopt},
                    {"sparse_is_n_log_n", Verdict::does_not_hold},
                    {"kept_weights_take_n2", std::nullopt},
                    {"attention_needs_n2_memory", std::nullopt},
                    {"causal_halves", std::nullopt},
                    {"softmax_copies", Verdict::holds},
                    {"window_copies", Verdict::does_not_hold},
                    {"strided_copies", Verdict::not_shown},
                    {"linformer_copies", Verdict::not_shown},
                    {"linear_copies", Verdict::not_shown},
                    {"performer_copies", Verdict::not_shown}});
}

TEST_CASE("the memory of a process is what it touches") {
    const auto touch = [](std::size_t bytes) {
        return [bytes] {
            const std::vector<char> block(bytes, 1);
            CHECK_EQ(block.back(), 1);
        };
    };
    const double small = peak_resident(touch(1 << 20)), large = peak_resident(touch(64 << 20));
    if (std::isnan(small)) return tapestry::test::skip("this system does not tell memory");
    CHECK(large - small == doctest::Approx(63 << 20).epsilon(0.05));
    CHECK(std::isnan(peak_resident([] { throw std::runtime_error("none"); })));
}

TEST_CASE("experiments: lines through points") {
    const Line line = fit_line({1, 2, 4}, {5, 7, 11});
    CHECK(line.slope == doctest::Approx(2));
    CHECK(line.intercept == doctest::Approx(3));
    CHECK(fit_line({0, 1, 2}, {0, 3, 0}).slope == doctest::Approx(0));  // least squares
    CHECK(exponent({1, 10, 100}, {3, 300, 30'000}) == doctest::Approx(2));
}
