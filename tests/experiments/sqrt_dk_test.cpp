// Read examples/experiments/sqrt_dk.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment sqrt_dk") {
    const Report report = run_quick("sqrt_dk");
    const Table& scores = report.tables.at(0);
    const Table& gradients = report.tables.at(1);
    for (const char* d : {"4", "16", "64", "256", "1024"}) {
        CHECK(scores.number(d, "variance of q . k") ==
              doctest::Approx(scores.number(d, "theory")).epsilon(0.1));
        CHECK(scores.number(d, "largest weight, divided") < 0.15);
        CHECK(gradients.number(d, "divided: median") == doctest::Approx(0.165).epsilon(0.1));
    }
    CHECK(scores.number("1024", "not divided") > 0.9);
    CHECK(gradients.number("1024", "not divided: median") <
          0.01 * gradients.number("4", "not divided: median"));
    // What is mostly left out: the mean square hardly falls.
    CHECK(gradients.number("1024", "not divided: rms") >
          0.3 * gradients.number("4", "not divided: rms"));
    const Table& trained = report.tables.at(2);
    CHECK(trained.number("256", "right, divided") > 0.99);
    CHECK(trained.number("256", "loss, divided") < 0.05);
    CHECK(trained.number("256", "loss, not divided") > 0.3);
    CHECK(report.verdict.holds);
}
