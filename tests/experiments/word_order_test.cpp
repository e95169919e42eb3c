// Read examples/school/experiments/word_order.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment word_order") {
    const Report report = run_quick("word_order");
    const Table& words = report.tables.at(0);
    for (const char* word : {"dog", "bites", "man"}) CHECK(words.number("none", word) < 1e-13);
    for (const char* way : {"learned", "sinusoidal", "rotary"}) {
        CHECK(words.number(way, "dog") > 0.01);
        CHECK(words.number(way, "man") > 0.01);
    }
    // The middle word keeps its place, but its neighbours to the left and right change.
    CHECK(words.number("rotary", "bites") > 1e-4);
    for (const char* k : {"1", "7", "64", "1000"}) {
        CHECK(report.tables.at(1).number(k, "measured") < 1e-11);
    }
    check_verdicts("word_order", report,
                   {{"order_is_lost", Verdict::holds},
                    {"learned_tell", Verdict::holds},
                    {"sinusoids_tell", Verdict::holds},
                    {"rotations_tell", Verdict::holds},
                    {"shift_is_rotation", Verdict::holds}});
}
