// Read examples/school/experiments/head_roles.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment head_roles") {
    const Report report = run_quick("head_roles");
    const Table& leakage = report.tables.at(0);
    CHECK_EQ(leakage.number("orthogonal, along axes", "measured"), 0);
    CHECK(leakage.number("orthogonal, in any direction", "measured") < 1e-13);
    CHECK(leakage.number("random", "measured") > 0.01);
    const Table& roles = report.tables.at(1);
    CHECK_EQ(roles.number("2 heads", "heads that serve one relation alone"), 2);
    CHECK_EQ(roles.number("2 heads", "heads that are needed"), 2);
    CHECK(roles.number("2 heads", "weight on the relation a head looks at more") > 0.9);
    // Three of three models are too few to show more than 44%.
    check_verdicts("head_roles", report,
                   {{"orthogonal_heads_leak_nothing", Verdict::holds},
                    {"one_head_is_not_enough", Verdict::holds},
                    {"two_heads_are_enough", Verdict::holds},
                    {"two_heads_divide_the_work", Verdict::not_shown},
                    {"four_heads_have_roles", Verdict::holds},
                    {"four_heads_are_needed", Verdict::not_shown}});
}
