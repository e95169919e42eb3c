// Read examples/school/experiments/what_goes_wrong.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment what_goes_wrong") {
    const Report report = run_quick("what_goes_wrong");
    const Table& table = report.tables.at(0);
    const auto trained = [&](const char* name) { return table.number(name, "last ten steps"); };
    CHECK(trained("right") < 4.5);  // nats per word; guessing costs 6.6
    CHECK(table.number("no zero_grad", "gradient norm at the end") >
          5 * table.number("right", "gradient norm at the end"));
    CHECK_EQ(report.tables.at(1).rows.size(), 2);
    // 120 small steps are too few to discover that the answer can be copied.
    check_verdicts("what_goes_wrong", report,
                   {{"rate_too_high", Verdict::holds},
                    {"cold_start_high_rate", Verdict::does_not_hold},
                    {"cold_start_tuned", Verdict::does_not_hold},
                    {"norm_before_needs_none", Verdict::holds},
                    {"no_mask_cheats", Verdict::does_not_hold},
                    {"no_mask_cannot_write", Verdict::does_not_hold},
                    {"no_zero_grad", Verdict::holds}});
}
