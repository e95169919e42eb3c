// Read examples/school/experiments/speedrun.cpp first. Thirty steps of a small model cannot rate an
// ingredient; they only show that each has an effect.
#include <tapestry/tests/experiments/support.h>

#include <tapestry/core/error.h>

using namespace tapestry::experiments;

TEST_CASE("experiment speedrun") {
    const Report report = run_quick("speedrun");
    const Table& rows = report.tables.at(1);
    for (const auto& row : rows.rows) {
        INFO(row[0].text);
        CHECK(rows.number(row[0].text, "validation") > 0);
        CHECK(rows.number(row[0].text, "test") > 0);
        if (row[0].text == "the recipe") continue;
        CHECK(rows.number(row[0].text, "more than the recipe") != 0);  // training differs
    }
    CHECK_EQ(judge(below(1.88), report.decided.at("below_1_88")), Verdict::not_shown);
    CHECK_THROWS_AS(run(find_experiment("by_hand"), {.quick = true, .text = "t.txt"}),
                    tapestry::ValueError);
}
