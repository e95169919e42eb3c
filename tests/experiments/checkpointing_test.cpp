// Read examples/school/experiments/checkpointing.cpp first. Times are not asserted.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment checkpointing") {
    const Report report = run_quick("checkpointing");
    const Table& steps = report.tables.at(0);
    CHECK(steps.number("8", "peak, MB") > 2 * steps.number("8", "checkpointed peak"));
    CHECK(steps.number("8", "kept, MB") > 5 * steps.number("8", "checkpointed"));
    const Table& slopes = report.tables.at(1);
    CHECK(slopes.number("checkpointed", "layer inputs [B, T, C]") ==
          doctest::Approx(1).epsilon(0.05));
    CHECK(slopes.number("everything kept", "layer inputs [B, T, C]") > 10);
    check_verdicts("checkpointing", report,
                   {{"keeps_inputs_alone", Verdict::holds},
                    {"peak_falls", Verdict::holds},
                    {"same_bits", Verdict::holds},
                    {"four_thirds_of_the_time", std::nullopt}});
}
