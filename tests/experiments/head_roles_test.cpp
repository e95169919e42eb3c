// Read examples/experiments/head_roles.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment head_roles") {
    const Report report = run_quick("head_roles");
    const Table& leakage = report.tables.at(0);
    CHECK_EQ(leakage.number("orthogonal, along axes", "measured"), 0);
    CHECK(leakage.number("orthogonal, in any direction", "measured") < 1e-13);
    CHECK(leakage.number("random", "measured") > 0.01);
    // Whichever head it is: it looks at one relation's record, and that relation needs it.
    const Table& roles = report.tables.at(1);
    double served[2] = {};
    for (const char* head : {"2 heads, seed 1, head 0", "2 heads, seed 1, head 1"}) {
        const double colour = roles.number(head, "weight on colour's");
        const double shape = roles.number(head, "weight on shape's");
        const bool is_colour = colour > shape;
        served[is_colour ? 0 : 1] = std::max(colour, shape);
        CHECK(std::min(colour, shape) < 0.25);
        const double own =
            roles.number(head, is_colour ? "colour right without it" : "shape right without it");
        const double other =
            roles.number(head, is_colour ? "shape right without it" : "colour right without it");
        CHECK(own < 0.5);
        CHECK(other > 0.95);
    }
    CHECK(served[0] > 0.8);
    CHECK(served[1] > 0.8);
    CHECK(report.verdict.holds);
}
