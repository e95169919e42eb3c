// Read examples/school/experiments/balanced_key.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment balanced_key") {
    const Report report = run_quick("balanced_key");
    const Table& scanned = report.tables.at(0);
    CHECK_EQ(scanned.number("balanced key has the largest weight", "measured"), 0);
    CHECK(scanned.number("its largest weight", "measured") > 0.333);
    // A rule on one projection is right for 79% of random keys; training comes close.
    const Table& trained = report.tables.at(1);
    CHECK(trained.number("random keys, one head, linear", "right") > 0.7);
    CHECK(trained.number("random keys, two heads, linear", "right") < 0.9);
    check_verdicts("balanced_key", report,
                   {{"never_largest", Verdict::holds},
                    {"below_a_third", Verdict::holds},
                    {"one_head_fails", Verdict::holds},
                    {"two_heads_needed", Verdict::not_shown},
                    {"two_heads_find_it", Verdict::holds},
                    {"two_heads_find_any", Verdict::does_not_hold},
                    {"second_head_helps", Verdict::not_shown},
                    {"bend_helps", Verdict::not_shown}});
}
