// Read examples/experiments/quadratic_cost.cpp first. Counts and memory are exact; times, on a
// machine that does other things meanwhile, are not asserted.
#include <tapestry/examples/experiments/least_squares.h>
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment quadratic_cost") {
    const Report report = run_quick("quadratic_cost");
    const Table& exponents = report.tables.at(0);
    REQUIRE_EQ(exponents.rows.size(), 6);
    for (const auto& row : exponents.rows) {
        const std::string& form = row[0].text;
        const bool softmax = form.starts_with("softmax");
        CAPTURE(form);
        CHECK(exponents.number(form, "operations") ==
              doctest::Approx(softmax ? 2 : 1).epsilon(0.1));
        const bool kept = form == "softmax, weights kept";
        CHECK(exponents.number(form, "memory") == doctest::Approx(kept ? 2 : 1).epsilon(0.1));
    }
    CHECK_FALSE(report.verdict.holds);  // the memory of softmax is not quadratic here
}

TEST_CASE("experiments: lines through points") {
    const Line line = fit_line({1, 2, 4}, {5, 7, 11});
    CHECK(line.slope == doctest::Approx(2));
    CHECK(line.intercept == doctest::Approx(3));
    CHECK(fit_line({0, 1, 2}, {0, 3, 0}).slope == doctest::Approx(0));  // the least squares
    CHECK(exponent({1, 10, 100}, {3, 300, 30'000}) == doctest::Approx(2));
}
