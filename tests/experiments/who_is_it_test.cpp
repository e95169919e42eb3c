// Read examples/school/experiments/who_is_it.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment who_is_it") {
    const Report report = run_quick("who_is_it");
    const Table& sentences = report.tables.at(0);
    const double right = sentences.number("held out, whole model", "right");
    const double first = sentences.number("held out, always the first noun", "right");
    CHECK(sentences.number("held out, whole model", "number") > 100);
    CHECK(first > 0.4);
    CHECK(first < 0.65);  // the sentences are balanced, so there is something to learn
    CHECK(right > first + 0.15);
    const Table& heads = report.tables.at(1);
    REQUIRE_EQ(heads.rows.size(), 4);
    CHECK(heads.number("1", "on the antecedent") > 3 * 0.08);
    CHECK(heads.number("1", "right without it and those above") ==
          heads.number("1", "right without it"));
    double layers = 0;  // counted from 0: of all heads, two in each of two layers
    for (const auto& row : heads.rows) layers += heads.number(row.front().text, "layer");
    CHECK_EQ(layers, doctest::Approx(2));
    // Attention is the only path to the pronoun.
    CHECK(heads.number("4", "right without it and those above") < first);
    check_verdicts("who_is_it", report,
                   {{"it_is_named", Verdict::holds},
                    {"a_head_looks", Verdict::holds},
                    {"it_is_not_led_astray", Verdict::not_shown},
                    {"one_head_is_missed", Verdict::not_shown},
                    {"heads_until_guessing", Verdict::not_shown}});
}
