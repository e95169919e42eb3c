// Read examples/school/experiments/layers_roles.cpp first.
#include <tapestry/tests/experiments/support.h>

#include <cmath>

using namespace tapestry::experiments;

TEST_CASE("experiment layers_roles") {
    const Report report = run_quick("layers_roles");
    const Table& layers = report.tables.at(0);
    CHECK_EQ(layers.rows.size(), 4);
    CHECK_EQ(layers.rows.front().front().text, "layer 0");
    CHECK_EQ(layers.rows.back().front().text, "layer 3");
    for (const auto& row : layers.rows) {
        const std::string& layer = row.front().text;
        CHECK(layers.number(layer, "distance") > 1);
        CHECK(layers.number(layer, "distance") < 24);
        CHECK(layers.number(layer, "entropy") > 0.5);
        CHECK(layers.number(layer, "entropy") < std::log(48));
        CHECK(layers.number(layer, "pronoun: antecedent") > 0.2);
    }
    // After eighty steps all layers are still alike.
    check_verdicts("layers_roles", report,
                   {{"first_is_local", Verdict::does_not_hold},
                    {"last_looks_furthest", Verdict::not_shown},
                    {"last_is_spread", Verdict::not_shown},
                    {"syntax_in_the_middle", Verdict::holds},
                    {"coreference_found", Verdict::not_shown},
                    {"coreference_late", Verdict::not_shown},
                    {"coreference_after_syntax", Verdict::not_shown}});
}
