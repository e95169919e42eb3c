// Read examples/school/experiments/heads_cost.cpp first. Times are not asserted.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment heads_cost") {
    const Report report = run_quick("heads_cost");
    const Table& costs = report.tables.at(0);
    for (const char* size : {"d = 64, 1 x 64", "d = 64, 8 x 8"}) {
        CHECK_EQ(costs.number(size, "parameters"), 4 * (64 * 64 + 64));
        CHECK(costs.number(size, "ms") > 0);
    }
    CHECK(costs.number("d = 512, 8 x 64", "MFLOP forward") ==
          doctest::Approx(costs.number("d = 512, 1 x 512", "MFLOP forward")).epsilon(0.05));
    // It learned something: guessing one of about 600 words costs ln 600 = 6.4 nats.
    for (const char* heads : {"1", "4", "8"}) {
        CHECK(report.tables.at(1).number(heads, "loss, held out") < 5);
    }
    check_verdicts("heads_cost", report,
                   {{"same_parameters", Verdict::holds},
                    {"same_operations", Verdict::holds},
                    {"time_512", std::nullopt},
                    {"time_64", std::nullopt},
                    {"four_learn_better", Verdict::not_shown},
                    {"eight_learn_better", Verdict::not_shown}});
}
