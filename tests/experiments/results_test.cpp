// Results round-trip through JSON without loss, and give the same page.
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/render.h>
#include <tapestry/examples/school/experiments/run_experiments.h>
#include <tapestry/tests/core/scratch.h>

#include <doctest/doctest.h>

using namespace tapestry::experiments;

TEST_CASE("results: what was written as JSON is read again, to the last bit") {
    const tapestry::test::Scratch scratch;
    const auto json = scratch / "found.json", page = scratch / "found.md";
    std::string told;
    run_experiments({.names = {"word_order"},
                     .setting = {.quick = true, .seeds = 2},
                     .markdown = page,
                     .json = json},
                    [&](const std::string& text) { told += text; });
    const std::string text = tapestry::read_file(json);
    const Results results = results_from_json(text);
    CHECK(to_json(results) == text);
    CHECK(to_page(results, "found") == tapestry::read_file(page));
    const Found& found = results.found.at(0);
    CHECK_EQ(found.name, "word_order");
    CHECK_EQ(found.outcomes.of("none", "largest"), found.report.decided.at("order_is_lost"));
    CHECK_EQ(found.outcomes.entries().at(0).seeds.size(), 2);
    // The same seed gives the same numbers, whatever runs in parallel.
    const auto trials = find_experiment("word_order").trials({.quick = true, .seeds = 2});
    CHECK(trials.at(1).run(2).numbers == found.outcomes.entries().at(1).seeds.at(1).numbers);
}

TEST_CASE("results: other texts are refused") {
    for (const char* text : {"", "{", "[]", "{}", R"({"command": 1})"}) {
        CHECK_THROWS_WITH_AS(results_from_json(text), doctest::Contains("not the results of"),
                             tapestry::ValueError);
    }
}

TEST_CASE("results: numbers that are none are refused") {
    const std::vector<Found> found{run(find_experiment("by_hand"), {.quick = true})};
    const std::string text = to_json({.command = "c", .version = "v", .isa = "i", .found = found});
    CHECK_EQ(to_json(results_from_json(text)), text);
    const auto with = [&](const std::string& name, const std::string& value) {
        std::string other = text;
        const std::size_t at = other.find("\"" + name + "\": ") + name.size() + 4;
        return other.replace(at, other.find_first_of(",\n}", at) - at, value);
    };
    const auto refused = [](const std::string& json, const char* said) {
        INFO(json.substr(0, 400));
        CHECK_THROWS_WITH_AS(results_from_json(json), doctest::Contains(said),
                             tapestry::ValueError);
    };
    CHECK_EQ(results_from_json(with("mean", "\"-inf\"")).found.size(), 1);
    refused(with("mean", "\"abc\""),
            "not the results of experiments: a number is \"inf\", \"-inf\" or without quotes, got "
            "\"abc\"");
    refused(with("count", "-1"), "count");
    refused(with("seeds", "0"), "not the results of experiments: 0 seeds");
}

TEST_CASE("results: the table of claims has a row for each") {
    const Experiment& experiment = find_experiment("by_hand");
    const std::vector<Found> found{run(experiment, {.quick = true})};
    const Table table = table_of_claims(found);
    CHECK_EQ(table.rows.size(), experiment.claims.size());
    CHECK_EQ(table.rows.at(0).at(2).text, "holds");
}

TEST_CASE("a claim that nothing decides, and a decision without a claim, are mistakes") {
    Experiment experiment{
        "e", "?", "t", {{"so", "It is so.", "x", above(0), Design::computed()}}, nullptr, nullptr};
    experiment.report = [](const Setting&, const Outcomes&) { return Report{}; };
    CHECK_THROWS_WITH_AS(run(experiment, {}), "experiment e: nothing decides its claim 'so'",
                         tapestry::ValueError);
    experiment.report = [](const Setting&, const Outcomes&) {
        return Report{.decided = {{"so", exactly(1)}, {"not so", exactly(1)}}};
    };
    CHECK_THROWS_AS(run(experiment, {}), tapestry::ValueError);
    experiment.report = [](const Setting&, const Outcomes&) {
        return Report{.decided = {{"so", exactly(1)}}};
    };
    const Found found = run(experiment, {});
    CHECK_EQ(verdict(experiment, found.report, "so"), Verdict::holds);
    CHECK_THROWS_AS(verdict(experiment, found.report, "other"), tapestry::ValueError);
    CHECK_THROWS_WITH_AS(run(experiment, {.model = "dir"}),
                         "--model: experiment e asks no model in a directory",
                         tapestry::ValueError);
}
