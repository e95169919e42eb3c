// Read examples/school/experiments/head_dropout_generalises.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment head_dropout_generalises") {
    const Report report = run_quick("head_dropout_generalises");
    const Table& table = report.tables.at(0);
    for (const char* way : {"nothing dropped", "heads, 0.3", "numbers, 0.1"}) {
        CHECK(table.number(way, "on what was read") < table.number(way, "held out"));
    }
    const Experiment& experiment = find_experiment("head_dropout_generalises");
    CHECK(verdict(experiment, report, "generalises") != Verdict::holds);
    CHECK(verdict(experiment, report, "no_head_rules") != Verdict::does_not_hold);
}
