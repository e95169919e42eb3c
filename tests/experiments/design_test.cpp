// The design of claims: what run() refuses, what stays undecided, how learning rates are chosen,
// and how many values would show what some do not.
#include <tapestry/core/error.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/render.h>
#include <tapestry/examples/school/experiments/tuning.h>
#include <tapestry/nn/train/train_step.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/skip.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace tapestry::experiments;
using tapestry::ValueError;

namespace {

// An experiment with one claim, "so", whose trials and number are static here.
std::vector<Trial> trials_of_test;
std::function<Interval(const Outcomes&)> number_of_test;

Experiment experiment_with(const Design& design) {
    return {"e",
            "?",
            "t",
            {{"so", "It is so.", "x", above(0), design}},
            [](const Setting&) { return trials_of_test; },
            [](const Setting&, const Outcomes& o) {
                return Report{.decided = {{"so", number_of_test(o)}}};
            }};
}

Found run_with(const Design& design) { return run(experiment_with(design), {.seeds = 4}); }

// A trial whose loss is smallest at the rate `best`, and whose accuracy is `right`.
Trial bowl(const std::string& name, double best, double right = 0.5) {
    return tuned(name, {1, 2, 4}, [=](std::uint64_t seed, double rate) -> Measured {
        const double off = std::log2(rate / best);
        return {{{"loss", off * off + 1e-3 * static_cast<double>(seed % 10)},
                 {"rate", rate},
                 {"right", right}}};
    });
}

const Comparison kComparison{.arms = {"a", "b"}, .control = "nothing"};

}  // namespace

TEST_CASE("designs: a claim without one, or with half of one, is refused before anything runs") {
    trials_of_test = {{"never", [](std::uint64_t) -> Measured { throw ValueError("it ran"); }}};
    number_of_test = [](const Outcomes&) { return exactly(1); };
    const auto refused = [](const Design& design, const char* message) {
        CHECK_THROWS_WITH_AS(run_with(design), message, ValueError);
    };
    refused({}, "experiment e: claim 'so' has no design");
    refused(Design::drawn(""), "experiment e: claim 'so' does not say what one value is");
    refused(Design::compared({.arms = {"a", "b"}}),
            "experiment e: claim 'so' has no untrained control");
    refused(Design::compared({.control = "nothing"}),
            "experiment e: claim 'so' does not name the trials that it compares");
    refused(Design::trained({.arms = {"a", "b"}, .control = "nothing"}),
            "experiment e: claim 'so' does not say what the trials that it compares had the same "
            "of");
    refused(Design::trained({.control = "nothing"}),
            "experiment e: claim 'so' has neither trials with tuned rates nor a reason for one "
            "rate");
}

TEST_CASE("claims: rules that cannot fail, doubles and trials that do not exist are refused") {
    const auto never = [](std::uint64_t) -> Measured { throw ValueError("it ran"); };
    trials_of_test = {{"a", never}, {"b", never}};
    number_of_test = [](const Outcomes&) { return exactly(1); };
    Experiment experiment = experiment_with(Design::computed());
    const auto refused = [&](const char* message) {
        CHECK_THROWS_WITH_AS(run(experiment, {.seeds = 4}), message, ValueError);
    };
    constexpr const char* kAnyNumber =
        "experiment e: claim 'so' has a rule that no number could break, or none obey";
    experiment.claims[0].rule = {};
    refused(kAnyNumber);
    experiment.claims[0].rule = between(2, 1);
    refused(kAnyNumber);
    experiment = experiment_with(Design::computed());
    experiment.claims.push_back(experiment.claims[0]);
    refused("experiment e: claim 'so' has the name of another");
    experiment.claims[1].name = "also";
    refused("experiment e: claim 'so' has the sentence of another");
    experiment = experiment_with(Design::compared({.arms = {"a", "c"}, .control = "nothing"}));
    refused("experiment e: claim 'so' compares 'c', which is no trial");
}

TEST_CASE("designs: intervals are of independent values, one for each seed at most") {
    trials_of_test.clear();
    const Design design = Design::drawn("a number");
    number_of_test = [](const Outcomes&) { return student({1, 2, 3, 4, 5}); };
    CHECK_THROWS_WITH_AS(run_with(design),
                         "experiment e: claim 'so' has 5 values of 4 seeds; they cannot be "
                         "independent",
                         ValueError);
    number_of_test = [](const Outcomes&) { return share(30, 40); };
    CHECK_THROWS_AS(run_with(design), ValueError);
    number_of_test = [](const Outcomes&) { return exactly(1); };
    CHECK_THROWS_WITH_AS(run_with(design),
                         "experiment e: claim 'so' depends on seeds and has no interval",
                         ValueError);
    number_of_test = [](const Outcomes&) { return student({1, 2, 3, 4}); };
    CHECK_NOTHROW(run_with(design));
    CHECK_THROWS_AS(run_with(Design::computed()), ValueError);
}

TEST_CASE("rates: the best of a grid that grows until it is inside, by seeds of their own") {
    trials_of_test = {bowl("a", 2), bowl("b", 16), bowl("c", 0.5)};
    number_of_test = [](const Outcomes& o) { return o.of("a", "rate"); };
    const Found found = run_with(Design::compared(kComparison));
    const auto rates = [&](const char* trial) {
        std::vector<double> all;
        for (const Tried& tried : found.outcomes.entry(trial).tried) all.push_back(tried.rate);
        return all;
    };
    CHECK_EQ(rates("a"), std::vector<double>{1, 2, 4});
    CHECK_EQ(rates("b"), std::vector<double>{1, 2, 4, 8, 16, 32});
    CHECK_EQ(rates("c"), std::vector<double>{0.25, 0.5, 1, 2, 4});
    CHECK_EQ(found.outcomes.values("b", "rate"), std::vector<double>{16, 16, 16, 16});
    // Seeds 1000001, 1000002, 1000003: their mean loss at the best rate.
    CHECK_EQ(found.outcomes.entry("a").tried[1].loss, doctest::Approx(0.002));
    CHECK(found.report.undecided.empty());
    // The report says which rates were tried.
    const Table& table = found.report.tables.back();
    CHECK_EQ(table.rows.at(0).at(1).text, "1: 1.002, 2: 0.002, 4: 1.002");
    CHECK_EQ(table.number("b", "best"), 16);
}

TEST_CASE("rates: a claim whose best rate stays at the edge is undecided") {
    trials_of_test = {bowl("a", 2), bowl("b", 1e6)};
    number_of_test = [](const Outcomes&) { return student({1, 1.1, 1.2, 1.1}); };
    const Experiment experiment = experiment_with(Design::compared(kComparison));
    const Found found = run(experiment, {.seeds = 4});
    CHECK_EQ(found.report.undecided.at("so"),
             "the best rate of 'b', 64, is at the edge of its grid");
    CHECK_EQ(verdict(experiment, found.report, "so"), Verdict::not_shown);
    CHECK_EQ(corrected_verdicts(experiment, found.report), std::vector{Verdict::not_shown});
    const std::string text = to_text(experiment, found.report);
    CHECK_NE(text.find("Not shown: It is so."), std::string::npos);
    CHECK_NE(text.find("Undecided: the best rate of 'b', 64, is at the edge"), std::string::npos);
    // Without tuning, the design must say why.
    trials_of_test = {{"a", [](std::uint64_t) -> Measured { return {}; }}, bowl("b", 2)};
    CHECK_EQ(run_with(Design::compared(kComparison)).report.undecided.at("so"),
             "the rate of 'a' is not tuned");
    Comparison untuned = kComparison;
    untuned.untuned = "one that suffices";
    CHECK(run_with(Design::compared(untuned)).report.undecided.empty());
}

TEST_CASE("rates: runs that diverge are worse than any other; grids are checked") {
    const auto diverging = [](std::uint64_t, double rate) -> Measured {
        return {{{"loss", rate > 2 ? std::nan("") : 1 / rate}}};
    };
    const Outcomes outcomes = run_trials({tuned("a", {1, 2, 4}, diverging)}, 1, 1);
    CHECK_EQ(outcomes.entry("a").rate(), 2);
    CHECK(outcomes.entry("a").is_inside());
    const auto ending = [](std::uint64_t, double rate) -> Measured {
        if (rate > 2) throw tapestry::DivergedError("the loss is not finite");
        return {{{"loss", 1 / rate}}};
    };
    CHECK_EQ(run_trials({tuned("a", {1, 2, 4}, ending)}, 1, 1).entry("a").rate(), 2);
    CHECK_THROWS_WITH_AS(run_trials({tuned("a", {1, 2}, diverging)}, 1, 1),
                         "trial 'a': a grid needs at least 3 ascending rates", ValueError);
    const auto lossless = [](std::uint64_t, double) -> Measured { return {}; };
    CHECK_THROWS_WITH_AS(run_trials({tuned("a", {1, 2, 4}, lossless)}, 1, 1),
                         "trial 'a' has no number 'loss'", ValueError);
}

TEST_CASE("verdicts: a judged seed without a number leaves its claim undecided, with the reason") {
    trials_of_test = {bowl("a", 2), bowl("b", 2)};
    number_of_test = [](const Outcomes&) { return student({1, std::nan(""), 1.2, 1.1}); };
    CHECK_EQ(run_with(Design::compared(kComparison)).report.undecided.at("so"),
             "the value of a seed is not a number");
    number_of_test = [](const Outcomes&) { return unmeasured(); };
    CHECK(run_with(Design::compared(kComparison)).report.undecided.empty());
}

TEST_CASE("ceilings: a score at its maximum in all that is compared decides nothing") {
    number_of_test = [](const Outcomes& o) {
        return student(differences(o.values("a", "right"), o.values("b", "right")));
    };
    Comparison comparison = kComparison;
    comparison.score = "right";
    trials_of_test = {bowl("a", 2, 1), bowl("b", 2, 0.998)};
    const Found found = run_with(Design::compared(comparison));
    CHECK_EQ(found.report.undecided.at("so"),
             "all that is compared is at the ceiling, 99.80 % and more");
    trials_of_test = {bowl("a", 2, 1), bowl("b", 2, 0.99)};
    CHECK(run_with(Design::compared(comparison)).report.undecided.empty());
}

TEST_CASE("values needed: as many as make the p-value small, at the same mean and spread") {
    const Interval ten = student({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});  // 5.5, deviation 3.03
    const Rule rule = above(4);
    CHECK_EQ(judge(rule, ten), Verdict::not_shown);
    const std::int64_t needed = values_needed(rule, ten);
    CHECK_EQ(needed, 19);  // t of 18 degrees of freedom: 2.101 * 3.028 / sqrt(19) = 1.46 < 1.5
    CHECK(values_needed(rule, ten, 0.05 / 100) > 2 * needed);
    CHECK_EQ(values_needed(above(5.5), ten), 0);  // on the bound: none would
    CHECK_EQ(values_needed(rule, student({5})), 0);
    CHECK_EQ(values_needed(rule, unmeasured()), 0);
    CHECK_EQ(values_needed(rule, exactly(5)), 0);
    // Wilson's interval of a share of 0.6 leaves out 0.5 from 97 values on.
    CHECK_EQ(values_needed(above(0.5), share(6, 10)), 97);
    CHECK_EQ(needed_by({rule, ten}, Verdict::holds, 10).text, "-");
    CHECK_EQ(needed_by({rule, ten}, Verdict::not_shown, 1).text, "19");
    CHECK_EQ(needed_by({rule, ten, true}, Verdict::not_shown, 1).text, "?");
}

TEST_CASE("designs: every claim of every experiment has a whole one, and its text says so") {
    for (const auto* list : {&all_experiments(), &experiments_apart()}) {
        for (const Experiment& e : *list) {
            for (const Claim& claim : e.claims) {
                INFO(e.name << ": " << claim.name);
                CHECK_EQ(missing_from(claim.design), "");
                CHECK(text_of(claim.design).ends_with("."));
            }
        }
    }
    // What is compared exists, and is tuned unless the design says why it is not.
    for (const Experiment& e : all_experiments()) {
        if (e.trials == nullptr) continue;
        // Steps are measured before trials of equal time are made: few of them in a quick run,
        // which tunes nothing.
        const bool is_quick =
            !tapestry::test::is_long() && std::ranges::any_of(e.claims, [](const Claim& claim) {
                return claim.design.equal == Equal::time;
            });
        const std::vector<Trial> trials = e.trials({.quick = is_quick});
        for (const Claim& claim : e.claims) {
            for (const std::string& arm : claim.design.arms) {
                INFO(e.name << ": " << claim.name << ": " << arm);
                const auto trial = std::ranges::find(trials, arm, &Trial::name);
                REQUIRE((trial != trials.end()));
                if (!is_quick) CHECK_EQ(trial->tuning.has_value(), claim.design.untuned.empty());
            }
        }
    }
    CHECK_EQ(text_of(Design::compared(kComparison)),
             "One value: a difference of two models with the same seed. Compared after equal "
             "steps, each at its best rate, which is inside its grid. Untrained: nothing.");
    Comparison twice = kComparison;
    twice.rates = "both at twice the rate that is best for the first";
    CHECK(
        text_of(Design::compared(twice))
            .find("equal steps, both at twice the rate that is best for the first, which is inside "
                  "its grid.") != std::string::npos);
    CHECK_EQ(text_of(Design::computed()), "Computed: nothing is random.");
}

TEST_CASE("experiments: a trial's seconds are of CPU, those of choosing its rate included") {
    const auto work = [](std::uint64_t, double rate) -> Measured {
        cpu_seconds(false, [] {
            volatile double sum = 0;
            for (int i = 0; i < 3'000'000; ++i) sum = sum + 1.0 / (i + 1);
        });
        return {{{"loss", std::abs(rate - 2)}}};
    };
    const auto sleep = [](std::uint64_t) -> Measured {
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        return {};
    };
    // The least of several, because a shared machine only adds; also afterwards, because it may
    // have become faster.
    double once = 1e9;
    const auto measure = [&] {
        for (int i = 0; i < 3; ++i) once = std::min(once, cpu_seconds(false, [&] { work(1, 2); }));
    };
    measure();
    const Outcomes o = run_trials({{"sleeps", sleep}, tuned("works", {1, 2, 4}, work)}, 1, 2);
    measure();
    CHECK(once > 1e-4);
    CHECK(o.entry("sleeps").seconds < 0.06);
    CHECK(o.entry("works").seconds > 0.7 * 8 * once);  // 2 seeds, and 3 rates of 2 seeds
}
