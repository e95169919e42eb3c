// Read examples/experiments/balanced_key.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment balanced_key") {
    const Report report = run_quick("balanced_key");
    const Table& scan = report.tables.at(0);
    CHECK(scan.number("queries tried", "measured") > 10000);
    CHECK_EQ(scan.number("balanced key has the largest weight", "measured"), 0);
    const double largest = scan.number("its largest weight", "measured");
    CHECK(largest > 0.33);
    CHECK(largest < 1.0 / 3 + 1e-12);
    const Table& trained = report.tables.at(1);
    CHECK_EQ(trained.number("two heads, feed-forward", "right"), 1);
    CHECK(trained.number("one head, linear", "right") < 0.9);
    CHECK(report.verdict.holds);
}
