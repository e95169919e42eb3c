// Read examples/experiments/layers_roles.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment layers_roles") {
    const Report report = run_quick("layers_roles");
    const Table& layers = report.tables.at(0);
    REQUIRE_EQ(layers.rows.size(), 4);
    for (const auto& row : layers.rows) {
        const std::string& layer = row[0].text;
        CAPTURE(layer);
        // A causal head over 48 words that looks at all alike: 11.75 words, and the mean of ln t.
        CHECK(layers.number(layer, "distance") > 1);
        CHECK(layers.number(layer, "distance") < 15);
        CHECK(layers.number(layer, "entropy") > 0.5);
        CHECK(layers.number(layer, "entropy") < 3);
    }
    // The short form trains for 80 steps: its heads still look everywhere, the last layer's at
    // fewer words than the first one's. That the first layer is the local one comes later.
    CHECK(layers.number("layer 4", "entropy") < layers.number("layer 1", "entropy"));
    const Table& heads = report.tables.at(1);
    REQUIRE_EQ(heads.rows.size(), 16);
    for (const auto& row : heads.rows) {
        const std::string& head = row[0].text;
        const double weight = heads.number(head, "weight on the antecedent");
        CHECK(weight > 0);
        CHECK(weight < 1);
        CHECK(heads.number(head, "times") ==
              doctest::Approx(weight / heads.number(head, "expected at that distance"))
                  .epsilon(0.05));
    }
}
