// The short forms of the experiments about positions, costs and training: figures that theory or
// arithmetic knows. Their verdicts are in verdicts.h. Read examples/school/experiments/NAME.cpp
// first.
#include <tapestry/core/error.h>
#include <tapestry/examples/school/experiments/attention_costs.h>
#include <tapestry/examples/school/experiments/least_squares.h>
#include <tapestry/tests/experiments/support.h>

#include <cmath>
#include <stdexcept>

using namespace tapestry::experiments;

TEST_CASE("experiment word_order") {
    const Report report = run_quick("word_order");
    const Table& words = report.tables.at(0);
    for (const char* word : {"dog", "bites", "man"}) CHECK(words.number("none", word) < 1e-13);
    for (const char* way : {"learned", "sinusoidal", "rotary"}) {
        CHECK(words.number(way, "dog") > 0.01);
        CHECK(words.number(way, "man") > 0.01);
    }
    // The word in the middle keeps its place, but not what stands to its left and right.
    CHECK(words.number("rotary", "bites") > 1e-4);
    for (const char* k : {"1", "7", "64", "1000"}) {
        CHECK(report.tables.at(1).number(k, "measured") < 1e-11);
    }
}

TEST_CASE("experiment positions_unique") {
    const Report report = run_quick("positions_unique");
    const Table& apart = report.tables.at(0);
    CHECK_EQ(apart.number("one wave", "positions apart"), 64);
    // dim 2 is one hand that turns by one radian: 710 / 2 pi = 113.0000096, and so 2 sin(3e-5)
    CHECK_EQ(apart.number("2", "positions apart"), 710);
    CHECK(apart.number("2", "distance / length of a code") ==
          doctest::Approx(2 * std::sin((710 - 226 * 3.14159265358979) / 2)).epsilon(1e-3));
    CHECK(report.tables.at(1).number("2", "sinusoidal, noise 0.1") < 0.1);
}

TEST_CASE("experiment rotary_filters") {
    const Report report = run_quick("rotary_filters");
    const Table& widths = report.tables.at(0);
    // arccos(1 - ln 2 / 4) = 0.5976; theta of pair 4 is 0.1, of pair 8 0.01, of pair 12 0.001
    CHECK(widths.number("4", "measured") == doctest::Approx(5.976).epsilon(0.01));
    CHECK(widths.number("8", "measured") == doctest::Approx(59.76).epsilon(0.01));
    CHECK(widths.number("12", "measured") == doctest::Approx(597.6).epsilon(0.01));
    const Table& gains = report.tables.at(1);
    // I_1(4) / I_0(4) = 9.75947 / 11.30192, Abramowitz and Stegun, table 9.8
    CHECK(gains.number("1.0", "measured") == doctest::Approx(0.86352).epsilon(0.01));
    CHECK(gains.number("2.0", "measured") == doctest::Approx(0.56824).epsilon(0.01));
    for (const char* between : {"0.5", "1.5", "2.5"}) {
        CHECK(std::abs(gains.number(between, "measured")) < 0.01);
    }
}

// Counts and memory are exact; times, on a machine that does other things meanwhile, are not
// asserted.
TEST_CASE("experiment quadratic_cost") {
    const Report report = run_quick("quadratic_cost");
    const Table& exponents = report.tables.at(0);
    REQUIRE_EQ(exponents.rows.size(), 11);
    for (const auto& row : exponents.rows) {
        const std::string& form = row[0].text;
        CAPTURE(form);
        CHECK(exponents.number(form, "operations") ==
              doctest::Approx(exponents.number(form, "theory")).epsilon(0.1));
        CHECK(exponents.number(form, "memory of tensors") ==
              doctest::Approx(exponents.number(form, "theory of memory")).epsilon(0.2));
    }
}

TEST_CASE("the memory of a process is what it touches") {
    const auto touch = [](std::size_t bytes) {
        return [bytes] {
            const std::vector<char> block(bytes, 1);
            CHECK_EQ(block.back(), 1);
        };
    };
    const double small = peak_resident(touch(1 << 20)), large = peak_resident(touch(64 << 20));
    if (std::isnan(small)) return tapestry::test::skip("this system does not tell memory");
    CHECK(large - small == doctest::Approx(63 << 20).epsilon(0.05));
    CHECK(std::isnan(peak_resident([] { throw std::runtime_error("none"); })));
}

TEST_CASE("experiments: lines through points") {
    const Line line = fit_line({1, 2, 4}, {5, 7, 11});
    CHECK(line.slope == doctest::Approx(2));
    CHECK(line.intercept == doctest::Approx(3));
    CHECK(fit_line({0, 1, 2}, {0, 3, 0}).slope == doctest::Approx(0));  // the least squares
    CHECK(exponent({1, 10, 100}, {3, 300, 30'000}) == doctest::Approx(2));
}

// Times are not asserted.
TEST_CASE("experiment checkpointing") {
    const Report report = run_quick("checkpointing");
    const Table& steps = report.tables.at(0);
    CHECK(steps.number("8", "peak, MB") > 2 * steps.number("8", "checkpointed peak"));
    CHECK(steps.number("8", "kept, MB") > 5 * steps.number("8", "checkpointed"));
    const Table& slopes = report.tables.at(1);
    CHECK(slopes.number("checkpointed", "layer inputs [B, T, C]") ==
          doctest::Approx(1).epsilon(0.05));
    CHECK(slopes.number("everything kept", "layer inputs [B, T, C]") > 10);
}

// Times are not asserted.
TEST_CASE("experiment parallel_or_serial") {
    const Report report = run_quick("parallel_or_serial");
    const Table& chain = report.tables.at(0);
    // Three operations for a step of an RNN: a product, a sum, tanh.
    CHECK_EQ(chain.number("RNN", "128") - chain.number("RNN", "64"), 3 * 64);
    CHECK_EQ(chain.number("Transformer", "256"), chain.number("Transformer", "64"));
    const Table& learnt = report.tables.at(2);
    for (const char* network : {"RNN", "LSTM"}) {
        CHECK(learnt.number(network, "parameters") ==
              doctest::Approx(learnt.number("Transformer", "parameters")).epsilon(0.05));
    }
    // As much work for as many parameters and characters: what differs is how much may run at once.
    CHECK(chain.number("LSTM", "MFLOP, 256") ==
          doctest::Approx(chain.number("RNN", "MFLOP, 256")).epsilon(0.1));
    CHECK(chain.number("Transformer", "MFLOP, 256") > 50);  // 2 x 100,000 x 256
    // The loss after a quarter of a second: a busy machine takes few steps, which may leave it a
    // little above that of guessing, ln 47 = 3.85.
    CHECK(report.decided.at("learns_more_than_an_rnn_60").count == 0);
    CHECK(std::isnan(report.decided.at("faster_per_token").mean));  // the longest row has 128
    CHECK(learnt.number("Transformer", "0.25 s") < 4.5);
}

TEST_CASE("experiment how_far") {
    const Report report = run_quick("how_far");
    const Table& copied = report.tables.at(0);
    for (const char* network : {"LSTM, Bahdanau", "Transformer"}) {
        CHECK(copied.number(network, "16") > 0.9);
        CHECK(copied.number(network, "32") > 0.9);
    }
    for (const auto& row : copied.rows) {  // equal parameters, to a tenth
        CHECK(copied.number(row[0].text, "parameters") > 18'000);
        CHECK(copied.number(row[0].text, "parameters") <= 20'000);
        CHECK(copied.number(row[0].text, "untrained") < 0.3);
    }
    const Table& fading = report.tables.at(1);
    CHECK(fading.number("LSTM, forget bias 0", "d = 128") > fading.number("RNN", "d = 128"));
    CHECK(fading.number("LSTM, forget bias 1", "d = 128") >
          fading.number("LSTM, forget bias 0", "d = 128"));
}

TEST_CASE("experiment deep_gradients") {
    const Report report = run_quick("deep_gradients");
    const Table& table = report.tables.at(0);
    CHECK(table.number("no residuals", "first / last") < 0.01);
    CHECK(table.number("no residuals", "factor per layer back") < 0.8);
    for (const char* wiring : {"residuals, norm after", "residuals, norm before"}) {
        CHECK(table.number(wiring, "first / last") > 0.1);
        CHECK(table.number(wiring, "factor per layer back") > 0.9);
    }
    const double after = table.number("residuals, norm after", "last layer goes as depth to the");
    const double before = table.number("residuals, norm before", "last layer goes as depth to the");
    CHECK(after > before + 0.2);
    CHECK(before < -0.2);
    // What arrives without residuals falls with every doubling of the depth.
    const Table& first = report.tables.at(1);
    CHECK(first.number("no residuals", "16") < 0.1 * first.number("no residuals", "8"));
}

TEST_CASE("experiment without_norm") {
    const Report report = run_quick("without_norm");
    const Table& table = report.tables.at(0);
    // All three learn; who only guesses has ln 716 = 6.57.
    for (const char* stack :
         {"no norms, 6 layers", "norms after, 6 layers", "norms before, 6 layers"}) {
        CHECK(table.number(stack, "at its best rate") < 5.6);
    }
    // A high rate harms the stack without norms, and not the one with norms before.
    CHECK(table.number("no norms, 6 layers", "at rate 0.03") >
          table.number("no norms, 6 layers", "at its best rate"));
    CHECK(table.number("norms before, 6 layers", "at rate 0.03") < 5);
}

TEST_CASE("experiment what_goes_wrong") {
    const Report report = run_quick("what_goes_wrong");
    const Table& table = report.tables.at(0);
    const auto trained = [&](const char* name) { return table.number(name, "last ten steps"); };
    CHECK(trained("right") < 4.5);  // nats per word; knowing nothing costs 6.6
    CHECK(table.number("no zero_grad", "gradient norm at the end") >
          5 * table.number("right", "gradient norm at the end"));
    CHECK(table.number("rate 100 times as high", "last ten steps") > trained("right") + 0.5);
    CHECK_EQ(report.tables.at(1).rows.size(), 3);
    // Three layers say nothing of six.
    CHECK(std::isnan(report.decided.at("cold_start_high_rate").mean));
}

TEST_CASE("experiment scaling") {
    const Report report = run_quick("scaling");
    REQUIRE_EQ(report.tables.size(), 5);
    for (std::size_t axis = 1; axis < 4; ++axis) {  // sixty steps are too few for more layers
        const Table& table = report.tables[axis];
        CHECK(table.rows.back()[1].value < table.rows.front()[1].value);
    }
    // Parameters without the table of words: 12 layers dim^2 in two layers.
    CHECK_EQ(report.tables[2].rows.front()[0].value, doctest::Approx(12 * 2 * 8 * 8));
    // Three seeds and 60 steps show the direction and no law.
    const Experiment& experiment = find_experiment("scaling");
    for (const char* claim : {"falls_with_parameters", "falls_with_data", "falls_with_compute"}) {
        CHECK(verdict(experiment, report, claim) != Verdict::does_not_hold);
        CHECK(report.decided.at(claim).mean < 0);
    }
}

// Thirty steps of a small model decide no ingredient; what they show is that each is there.
TEST_CASE("experiment speedrun") {
    const Report report = run_quick("speedrun");
    const Table& rows = report.tables.at(1);
    for (const auto& row : rows.rows) {
        INFO(row[0].text);
        CHECK(rows.number(row[0].text, "validation") > 0);
        CHECK(rows.number(row[0].text, "test") > 0);
        if (row[0].text == "the recipe") continue;
        CHECK(rows.number(row[0].text, "more than the recipe") != 0);  // it is another training
    }
    CHECK_EQ(judge(below(1.88), report.decided.at("below_1_88")), Verdict::not_shown);
    CHECK_THROWS_AS(run(find_experiment("by_hand"), {.quick = true, .text = "t.txt"}),
                    tapestry::ValueError);
}
