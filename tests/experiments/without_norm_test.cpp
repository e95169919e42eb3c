// Read examples/school/experiments/without_norm.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment without_norm") {
    const Report report = run_quick("without_norm");
    const Table& table = report.tables.at(0);
    // At a low rate all three learn; guessing costs ln 716 = 6.57.
    for (const char* stack :
         {"no norms, 6 layers", "norms after, 6 layers", "norms before, 6 layers"}) {
        CHECK(table.number(stack, "rate 0.003") < 5.5);
    }
    CHECK(table.number("no norms, 6 layers", "rate 0.03") > 6);
    const Experiment& experiment = find_experiment("without_norm");
    check_verdict(find_claim(experiment, "bears_high_rates"), report, Verdict::holds);
    CHECK(verdict(experiment, report, "helps_at_the_best_rate") != Verdict::holds);
}
