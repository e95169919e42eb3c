// Read examples/school/experiments/dynamic_weights.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment dynamic_weights") {
    const Report report = run_quick("dynamic_weights");
    CHECK(report.tables.at(0).number("trained", "held-out riddles right") > 0.9);
    check_verdicts("dynamic_weights", report,
                   {{"weights_follow_the_sentence", Verdict::holds},
                    {"it_is_learnt", Verdict::holds},
                    {"made_anew_finds", Verdict::holds},
                    {"learnt_once_would_do", Verdict::does_not_hold}});
}
