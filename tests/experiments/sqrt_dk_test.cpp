// Read examples/school/experiments/sqrt_dk.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment sqrt_dk") {
    const Report report = run_quick("sqrt_dk");
    const Table& scores = report.tables.at(0);
    const Table& gradients = report.tables.at(1);
    for (const char* d : {"4", "16", "64", "256", "512", "1024"}) {
        CHECK(scores.number(d, "variance of q . k") ==
              doctest::Approx(scores.number(d, "theory")).epsilon(0.1));
        CHECK(scores.number(d, "largest weight, divided") < 0.15);
        CHECK(gradients.number(d, "divided: median") == doctest::Approx(0.165).epsilon(0.1));
    }
    CHECK(scores.number("1024", "not divided") > 0.9);
    // Often omitted: the mean square hardly falls, and at q the median first rises.
    CHECK(gradients.number("1024", "not divided: rms") >
          0.3 * gradients.number("4", "not divided: rms"));
    const Table& at_q = report.tables.at(2);
    CHECK(at_q.number("64", "not divided: median") > 3 * at_q.number("64", "divided: median"));
    // With rescaled matrices one seed in five learns as much.
    const auto rescaled =
        tapestry::test::is_long() ? std::optional(Verdict::does_not_hold) : std::nullopt;
    // In forty steps the smaller rate has not got far; in three hundred it has.
    check_verdicts("sqrt_dk", report,
                   {{"variance", Verdict::holds},
                    {"deviation_8", Verdict::holds},
                    {"saturated", Verdict::holds},
                    {"divided_constant", Verdict::holds},
                    {"scores_vanish", Verdict::holds},
                    {"q_vanishes", Verdict::does_not_hold},
                    {"q_explodes", Verdict::holds},
                    {"w_q_explodes", Verdict::holds},
                    {"stalls_64", Verdict::does_not_hold},
                    {"worse_256", Verdict::holds},
                    {"rate_cures", Verdict::does_not_hold},
                    {"rescaled_is_as_good", rescaled}});
}
