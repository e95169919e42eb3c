// Read examples/experiments/what_goes_wrong.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment what_goes_wrong") {
    const Report report = run_quick("what_goes_wrong");
    const Table& table = report.tables.at(0);
    const auto trained = [&](const char* name) { return table.number(name, "last ten steps"); };
    const auto alone = [&](const char* name) {
        return table.number(name, "held out, later words hidden");
    };
    CHECK(trained("right") < 4.5);  // nats per word; knowing nothing costs 6.6
    CHECK(trained("rate 100 times as high") > trained("right") + 0.7);
    CHECK(trained("no zero_grad") > trained("right") + 0.7);
    CHECK(table.number("no zero_grad", "gradient norm at the end") >
          5 * table.number("right", "gradient norm at the end"));
    // It has begun to copy the next word: without it, it is at a loss.
    CHECK(alone("no mask") - trained("no mask") > alone("right") - trained("right") + 0.1);
    // Whether the deep ones with and without warm-up differ is reported as found.
    CHECK(trained("deep, norm after") < 6);
}
