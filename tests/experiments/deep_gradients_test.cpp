// Read examples/school/experiments/deep_gradients.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment deep_gradients") {
    const Report report = run_quick("deep_gradients");
    const Table& table = report.tables.at(0);
    CHECK(table.number("no residuals", "first / last") < 0.01);
    CHECK(table.number("no residuals", "factor per layer back") < 0.8);
    for (const char* wiring : {"residuals, norm after", "residuals, norm before"}) {
        CHECK(table.number(wiring, "first / last") > 0.1);
        CHECK(table.number(wiring, "factor per layer back") > 0.9);
    }
    const double after = table.number("residuals, norm after", "last layer goes as depth to the");
    const double before = table.number("residuals, norm before", "last layer goes as depth to the");
    CHECK(after > before + 0.2);
    CHECK(before < -0.2);
    // Without residuals the gradient shrinks with every doubling of the depth.
    const Table& first = report.tables.at(1);
    CHECK(first.number("no residuals", "16") < 0.1 * first.number("no residuals", "8"));
    check_verdicts("deep_gradients", report,
                   {{"vanishes", Verdict::holds},
                    {"norms_alone_do_not_help", Verdict::does_not_hold},
                    {"residuals_norm_after", Verdict::holds},
                    {"residuals_norm_before", Verdict::holds},
                    {"last_layer_norm_after", Verdict::not_shown},
                    {"last_layer_norm_before", Verdict::holds}});
}
