// Read examples/school/experiments/how_far.cpp first.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment how_far") {
    const Report report = run_quick("how_far");
    const Table& copied = report.tables.at(0);
    for (const char* network : {"LSTM, Bahdanau", "Transformer"}) {
        CHECK(copied.number(network, "16") > 0.9);
        CHECK(copied.number(network, "48") > 0.9);
    }
    for (const auto& row : copied.rows) {  // equal parameters, within 10%
        CHECK(copied.number(row[0].text, "parameters") > 18'000);
        CHECK(copied.number(row[0].text, "parameters") <= 20'000);
    }
    const Table& fading = report.tables.at(1);
    CHECK(fading.number("LSTM, forget bias 0", "d = 128") > fading.number("RNN", "d = 128"));
    CHECK(fading.number("LSTM, forget bias 1", "d = 128") >
          fading.number("LSTM, forget bias 0", "d = 128"));
    check_verdicts("how_far", report,
                   {{"rnn_fades", Verdict::holds},
                    {"gates_ease", Verdict::holds},
                    {"bias_eases", Verdict::holds},
                    {"attention_does_not_fade", Verdict::holds},
                    {"rnn_loses", Verdict::holds},
                    {"rnn_learns_nothing", Verdict::not_shown},
                    {"lstm_outreaches", Verdict::not_shown},
                    {"bias_outreaches", Verdict::holds},
                    {"bahdanau_reaches", Verdict::holds},
                    {"transformer_reaches", Verdict::holds}});
}
