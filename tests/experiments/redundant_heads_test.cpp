// Read examples/school/experiments/redundant_heads.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment redundant_heads") {
    const Report report = run_quick("redundant_heads");
    const Table& ranks = report.tables.at(0);
    CHECK_EQ(ranks.number("distinct", "numerical rank"), 64);
    CHECK_EQ(ranks.number("every second a copy", "numerical rank"), 32);
    CHECK(ranks.number("trained", "effective rank") < 64);
    CHECK(ranks.number("trained", "effective rank") > 8);
    // The more the models have learned, the more the most important head matters.
    const Table& moments = report.tables.at(1);
    CHECK(moments.number("all", "loss") < moments.number("a quarter of the steps", "loss"));
    CHECK(moments.number("all", "the dearest, zeroed") >
          moments.number("a quarter of the steps", "the dearest, zeroed"));
    CHECK(moments.number("all", "the dearest, zeroed") > 1e-3);
    // After 120 steps no head does much yet: most can be spared, which changes after 600 steps.
    check_verdicts("redundant_heads", report,
                   {{"copies_lower_the_rank", Verdict::holds},
                    {"rank_sees_near_copies", Verdict::does_not_hold},
                    {"effective_rank_sees_them", Verdict::holds},
                    {"trained_fill_less", Verdict::not_shown},
                    {"most_to_spare_zeroed", Verdict::holds},
                    {"most_to_spare_averaged", Verdict::holds},
                    {"zeroing_overstates", Verdict::holds}});
}
