// Read examples/experiments/who_is_it.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment who_is_it") {
    const Report report = run_quick("who_is_it");
    const Table& sentences = report.tables.at(0);
    const double right = sentences.number("held out, whole model", "right");
    const double first = sentences.number("held out, always the first noun", "right");
    CHECK(sentences.number("held out, whole model", "number") > 100);
    CHECK(first > 0.4);
    CHECK(first < 0.65);  // the sentences are balanced: there is something to know
    CHECK(right > first + 0.15);

    // The first head of the table looks at the antecedent most. It is not led astray.
    const Table& heads = report.tables.at(1);
    REQUIRE_EQ(heads.rows.size(), 4);
    const std::string best = heads.rows[0][0].text, last = heads.rows[3][0].text;
    CHECK(heads.number(best, "times chance") > 3);
    CHECK(heads.number(best, "on the antecedent") > 2 * heads.number(best, "on the other noun"));
    CHECK(heads.number(best, "right without it and those above") ==
          heads.number(best, "right without it"));
    // Nothing comes to the pronoun but through attention.
    CHECK(heads.number(last, "right without it and those above") < first);
    CHECK(report.verdict.holds);
}
