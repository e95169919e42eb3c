// Read examples/school/experiments/by_hand.cpp first. These numbers were computed with a
// calculator.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment by_hand") {
    const Report report = run_quick("by_hand");
    const Table& q = report.tables.at(4);
    CHECK_EQ(q.number("hit", "2"), 2);
    CHECK_EQ(q.number("hit", "4"), 1);
    const Table& step = report.tables.at(7);
    CHECK_EQ(step.number("robot", "q . k"), 6);
    CHECK_EQ(step.number("ball", "q . k"), 4);
    CHECK_EQ(step.number("hit", "/ sqrt(4)"), 0.5);
    // e^3 / (1 + e^3 + e^0.5 + 1 + e^2) = 20.0855 / 31.1234
    for (const char* column : {"weight", "weight (library)"}) {
        CHECK(step.number("robot", column) == doctest::Approx(0.645353).epsilon(1e-5));
        CHECK(step.number("the", column) == step.number("the (2)", column));
    }
    const Table& output = report.tables.at(8);
    const char* rows[] = {"by hand, in full", "library"};
    for (const char* row : rows) {
        CHECK(output.number(row, "1") == doctest::Approx(0.085104).epsilon(1e-4));
        CHECK(output.number(row, "2") == doctest::Approx(3.293650).epsilon(1e-5));
        CHECK(output.number(row, "3") == doctest::Approx(0.882766).epsilon(1e-5));
        CHECK(output.number(row, "4") == doctest::Approx(2.687361).epsilon(1e-5));
    }
    CHECK(std::abs(output.number("by hand, 4 decimals", "2") - output.number("library", "2")) <
          1e-3);
    check_verdicts("by_hand", report,
                   {{"library_agrees", Verdict::holds},
                    {"paper_is_enough", Verdict::holds},
                    {"looks_at_the_robot", Verdict::holds}});
}
