// Read examples/school/experiments/parallel_or_serial.cpp first. Times are not asserted.
#include <tapestry/tests/experiments/support.h>

using namespace tapestry::experiments;

TEST_CASE("experiment parallel_or_serial") {
    const Report report = run_quick("parallel_or_serial");
    const Table& chain = report.tables.at(0);
    // Three operations per RNN step: a product, a sum, tanh.
    CHECK_EQ(chain.number("RNN", "128") - chain.number("RNN", "64"), 3 * 64);
    CHECK_EQ(chain.number("Transformer", "256"), chain.number("Transformer", "64"));
    const Table& learnt = report.tables.at(2);
    for (const char* network : {"RNN", "LSTM"}) {
        CHECK(learnt.number(network, "parameters") ==
              doctest::Approx(learnt.number("Transformer", "parameters")).epsilon(0.05));
    }
    const Experiment& experiment = find_experiment("parallel_or_serial");
    for (const char* claim : {"rnn_is_serial", "lstm_is_serial", "transformer_is_parallel"}) {
        CHECK(verdict(experiment, report, claim) == Verdict::holds);
    }
}
