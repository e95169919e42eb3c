// Read examples/school/experiments/three_copies.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment three_copies") {
    const Report report = run_quick("three_copies");
    const Table& table = report.tables.at(0);
    // (16 + 16 + 16) 64 of embeddings, 64^2 for each matrix, 65 * 16 for the answer
    CHECK_EQ(table.number("three matrices", "parameters"), 48 * 64 + 3 * 4096 + 65 * 16);
    CHECK_EQ(table.number("no matrix", "parameters"), 48 * 64 + 65 * 16);
    // Cauchy-Schwarz: a record that queries with its own key finds itself first.
    CHECK(table.number("no matrix", "weight on itself") > 0.9);
    CHECK(table.number("three matrices", "weight on itself") < 0.05);
    check_verdicts("three_copies", report,
                   {{"three_learn", Verdict::holds},
                    {"query_is_no_key", Verdict::holds},
                    {"key_is_no_value", Verdict::does_not_hold},
                    {"query_is_no_value", Verdict::does_not_hold},
                    {"one_is_not_three", Verdict::holds},
                    {"none_is_not_three", Verdict::holds}});
}
