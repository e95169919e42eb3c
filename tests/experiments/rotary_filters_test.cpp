// Read examples/school/experiments/rotary_filters.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment rotary_filters") {
    const Report report = run_quick("rotary_filters");
    const Table& widths = report.tables.at(0);
    // arccos(1 - ln 2 / 4) = 0.5976; theta of pair 4 is 0.1, of pair 8 0.01, of pair 12 0.001
    CHECK(widths.number("4", "measured") == doctest::Approx(5.976).epsilon(0.01));
    CHECK(widths.number("8", "measured") == doctest::Approx(59.76).epsilon(0.01));
    CHECK(widths.number("12", "measured") == doctest::Approx(597.6).epsilon(0.01));
    const Table& gains = report.tables.at(1);
    // I_1(4) / I_0(4) = 9.75947 / 11.30192, Abramowitz and Stegun, table 9.8
    CHECK(gains.number("1.0", "measured") == doctest::Approx(0.86352).epsilon(0.01));
    CHECK(gains.number("2.0", "measured") == doctest::Approx(0.56824).epsilon(0.01));
    for (const char* between : {"0.5", "1.5", "2.5"}) {
        CHECK(std::abs(gains.number(between, "measured")) < 0.01);
    }
    check_verdicts("rotary_filters", report,
                   {{"half_width", Verdict::holds},
                    {"comb", Verdict::holds},
                    {"near_is_learned", Verdict::holds},
                    {"wide_is_learned", Verdict::holds},
                    {"near_uses_higher_frequencies", Verdict::holds}});
}
