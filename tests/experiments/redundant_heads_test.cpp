// Read examples/experiments/redundant_heads.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment redundant_heads") {
    const Report report = run_quick("redundant_heads");
    const Table& ranks = report.tables.at(0);
    CHECK_EQ(ranks.number("distinct", "numerical rank"), 64);
    CHECK_EQ(ranks.number("every second a copy", "numerical rank"), 32);
    for (const char* layer : {"trained, layer 0", "trained, layer 1"}) {
        CHECK(ranks.number(layer, "numerical rank") >= 60);  // no head copies another
        CHECK(ranks.number(layer, "effective rank") < 64);
        CHECK(ranks.number(layer, "effective rank") > 8);
    }
    // The more the model has learned, the fewer heads are to spare.
    const Table& moments = report.tables.at(1);
    CHECK(moments.number("120", "validation loss") < moments.number("30", "validation loss"));
    CHECK(moments.number("120", "the dearest") > moments.number("30", "the dearest"));
    CHECK(moments.number("120", "heads of 16 that cost less than 1 %") <=
          moments.number("30", "heads of 16 that cost less than 1 %"));
    // No head was left out by mistake: something changes for each.
    const Table& removed = report.tables.at(2);
    double worst = 0;
    for (int head = 0; head < 8; ++head) {
        const double cost = removed.number("0", "head " + std::to_string(head));
        CHECK(cost != 0);
        worst = std::max(worst, cost);
    }
    CHECK(worst > 1e-3);
}
