// Read examples/experiments/how_far.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment how_far") {
    const Report report = run_quick("how_far");
    const Table& copied = report.tables.at(0);
    for (const char* network : {"LSTM, Bahdanau", "Transformer"}) {
        CHECK(copied.number(network, "8") > 0.9);
        CHECK(copied.number(network, "64") > 0.9);
    }
    for (const char* network : {"RNN", "LSTM"}) {
        CHECK(copied.number(network, "8") > 0.5);  // not that it learned nothing
        CHECK(copied.number(network, "64") < 0.5);
    }
    for (const auto& row : copied.rows) {  // equal parameters, to a tenth
        CHECK(copied.number(row[0].text, "parameters, least") > 18'000);
        CHECK(copied.number(row[0].text, "parameters, most") <= 20'000);
    }
    const Table& fading = report.tables.at(1);
    CHECK(fading.number("RNN", "per step") < 0.58);
    CHECK(fading.number("LSTM", "per step") < 0.8);
    CHECK(fading.number("LSTM", "d = 128") > fading.number("RNN", "d = 128"));
    CHECK(fading.number("Transformer", "per step") > 0.95);
    CHECK(report.verdict.holds);
}
