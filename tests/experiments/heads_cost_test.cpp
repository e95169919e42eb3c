// Read examples/experiments/heads_cost.cpp first. Times are not asserted.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment heads_cost") {
    const Report report = run_quick("heads_cost");
    const Table& table = report.tables.at(0);
    for (const char* heads : {"1", "2", "4", "8"}) {
        CHECK_EQ(table.number(heads, "parameters"), 4 * (64 * 64 + 64));
        CHECK(table.number(heads, "MFLOP forward") ==
              doctest::Approx(table.number("1", "MFLOP forward")).epsilon(0.05));
        CHECK(table.number(heads, "ms") > 0);
        // It learned something: a word of about 600 costs ln 600 = 6.4 nats to who knows nothing.
        CHECK(table.number(heads, "nats per word") < 5);
    }
}
