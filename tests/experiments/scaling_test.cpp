// Read examples/school/experiments/scaling.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment scaling") {
    const Report report = run_quick("scaling");
    REQUIRE_EQ(report.tables.size(), 4);
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const Table& table = report.tables[axis];
        CHECK(table.rows.back()[1].value < table.rows.front()[1].value);
    }
    // Parameters without the embedding table: 12 dim^2 in each of two layers.
    CHECK_EQ(report.tables[0].rows.front()[0].value, doctest::Approx(12 * 2 * 8 * 8));
    // Three seeds and 60 steps show the trend, but not a law.
    const Experiment& experiment = find_experiment("scaling");
    for (const char* claim : {"falls_with_parameters", "falls_with_data", "falls_with_compute"}) {
        CHECK(verdict(experiment, report, claim) != Verdict::does_not_hold);
        CHECK(report.decided.at(claim).mean < 0);
    }
}
