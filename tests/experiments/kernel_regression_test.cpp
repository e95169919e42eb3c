// Read examples/school/experiments/kernel_regression.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment kernel_regression") {
    const Report report = run_quick("kernel_regression");
    const Table& table = report.tables.at(0);
    CHECK(table.number("256", "best width there is") < table.number("128", "best width there is"));
    CHECK(table.number("256", "learnt width") < table.number("128", "learnt width"));
    // Three seeds are too few for an exponent; ten are enough (docs/experiments.md).
    check_verdicts("kernel_regression", report,
                   {{"attention_is_the_estimate", Verdict::holds},
                    {"near_counts_more", Verdict::holds},
                    {"width_is_learnt", Verdict::holds},
                    {"rate_of_kernels", Verdict::not_shown}});
}
