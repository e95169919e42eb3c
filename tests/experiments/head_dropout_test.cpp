// Read examples/school/experiments/head_dropout.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment head_dropout") {
    const Report report = run_quick("head_dropout");
    const Table& table = report.tables.at(0);
    CHECK(table.number("independent, mean 0, 0.5", "measured") ==
          doctest::Approx(1.0 / 8).epsilon(0.05));
    CHECK(table.number("independent, mean 0, 0.7", "measured") ==
          doctest::Approx(1 / 4.8).epsilon(0.05));
    // If the claim's conditions do not hold, it is wrong: (1 + 0.5) / 8, 1 / 8 + 0.5 * 15 / 16.
    CHECK(table.number("independent, mean 1, 0.5", "measured") ==
          doctest::Approx(1.5 / 8).epsilon(0.05));
    CHECK(table.number("correlated 0.5, mean 0, 0.5", "measured") ==
          doctest::Approx(1.0 / 8 + 7.5 / 16).epsilon(0.05));
    check_verdicts("head_dropout", report,
                   {{"n_eff", Verdict::holds},
                    {"n_eff_with_a_mean", Verdict::does_not_hold},
                    {"n_eff_correlated", Verdict::does_not_hold},
                    {"formula_in_full", Verdict::holds},
                    {"trained_are_independent", Verdict::does_not_hold},
                    {"less_dominance", Verdict::not_shown},
                    {"easier_to_miss", Verdict::not_shown}});
}
