// Read examples/school/experiments/positions_unique.cpp first.
#include <tapestry/tests/experiments/support.h>

#include <cmath>

using namespace tapestry::experiments;

TEST_CASE("experiment positions_unique") {
    const Report report = run_quick("positions_unique");
    const Table& apart = report.tables.at(0);
    CHECK_EQ(apart.number("one wave", "positions apart"), 64);
    // dim 2 is one hand that turns by one radian: 710 / 2 pi = 113.0000096, hence 2 sin(3e-5)
    CHECK_EQ(apart.number("2", "positions apart"), 710);
    CHECK(apart.number("2", "distance / length of a code") ==
          doctest::Approx(2 * std::sin((710 - 226 * 3.14159265358979) / 2)).epsilon(1e-3));
    CHECK(report.tables.at(1).number("2", "sinusoidal") < 0.1);
    check_verdicts("positions_unique", report,
                   {{"codes_differ", Verdict::holds},
                    {"neighbours_are_nearest", Verdict::holds},
                    {"one_wave_would_do", Verdict::does_not_hold},
                    {"sum_tells_both", Verdict::holds},
                    {"narrow_sum_tells_both", Verdict::holds}});
}
