// Tables and reports as text and as Markdown.
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/experiments/support.h>

#include <cmath>
#include <set>

using namespace tapestry::experiments;

namespace {

Table small_table() {
    return {"Two rows", {"what", "measured"}, {{"a|b", {1.23456, 3}}, {"long name", percent(0.5)}}};
}

Experiment small_experiment() {
    return {"small",
            "Is it so?",
            "One paragraph.\n\n    y = x\n\nAnother one.",
            {{"so", "It is so.", "times", above(1), Design::drawn("a seed")},
             {"few", "It is little.", "times", below(1), Design::computed()}},
            nullptr,
            nullptr};
}

Report small_report() {
    return {.tables = {small_table()},
            .figures = {{"curve", "a curve", "<svg/>"}},
            .decided = {{"so", {{1.5, 1.25, 1.75, 4}}}, {"few", exactly(1.5)}},
            .remark = "A remark."};
}

}  // namespace

TEST_CASE("a table keeps its numbers") {
    const Table table = small_table();
    CHECK_EQ(table.number("a|b", "measured"), 1.23456);
    CHECK_EQ(table.number("long name", "measured"), 0.5);
    CHECK(std::isnan(table.number("a|b", "what")));
    CHECK_THROWS_WITH_AS(table.number("a", "measured"),
                         "table 'Two rows' has no row 'a' with a column 'measured'",
                         tapestry::ValueError);
    CHECK_THROWS_AS(table.number("a|b", "theory"), tapestry::ValueError);
    CHECK_EQ(Cell(12).value, 12);
    CHECK_EQ(Cell(1e-5, 2).text, "1e-05");
    CHECK_EQ(fixed(2.0 / 3, 2).text, "0.67");
}

TEST_CASE("a table as text and as Markdown") {
    CHECK_EQ(to_text(small_table()),
             "Two rows\n"
             "  what       measured\n"
             "  ---------  --------\n"
             "  a|b            1.23\n"
             "  long name    50.0 %\n");
    CHECK_EQ(to_markdown(small_table()),
             "Two rows\n\n"
             "| what | measured |\n"
             "|---|---:|\n"
             "| a\\|b | 1.23 |\n"
             "| long name | 50.0 % |\n");
}

TEST_CASE("a report as text and as Markdown") {
    const std::string text = to_text(small_experiment(), small_report());
    CHECK(text.starts_with("small: Is it so?\n\nOne paragraph.\n\n    y = x\n\nAnother one.\n"));
    CHECK(
        text.ends_with("Holds: It is so.\nTimes: 1.5 [1.25, 1.75] (4 values). Rule: above 1.\n\n"
                       "Does not hold: It is little.\nTimes: 1.5 exact. Rule: below 1.\n\n"
                       "- so: One value: a seed. Nothing is trained.\n"
                       "- few: Computed: nothing is random.\n\n"
                       "A remark.\n"));
    const std::string markdown = to_markdown(small_experiment(), small_report(), "pictures");
    CHECK(markdown.starts_with("## Is it so?\n\n`tapestry experiment small`\n"));
    CHECK(markdown.find("![a curve](pictures/small-curve.svg)\n") != std::string::npos);
    CHECK(markdown.find("| It is so. | times | above 1 | 1.5 | [1.25, 1.75] | 4 | **holds** | 95 % "
                        "| holds | - |\n") != std::string::npos);
    CHECK(
        markdown.ends_with("| 1.5 | exact | - | **does not hold** | - | does not hold | - |\n\n"
                           "- so: One value: a seed. Nothing is trained.\n"
                           "- few: Computed: nothing is random.\n\nA remark.\n"));
}

TEST_CASE("long lines are filled") {
    Experiment experiment = small_experiment();
    for (int i = 0; i < 60; ++i) experiment.theory += " word" + std::to_string(i);
    std::istringstream lines(to_text(experiment, small_report()));
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 90);
}

TEST_CASE("pictures are written, or the reason why not is said") {
    const tapestry::test::Scratch scratch;
    const auto paths = write_figures(small_experiment(), small_report(), scratch / "a" / "b");
    REQUIRE_EQ(paths.size(), 1);
    CHECK_EQ(tapestry::read_file(scratch / "a" / "b" / "small-curve.svg"), "<svg/>");
    tapestry::write_file_atomically(scratch / "file", "");
    CHECK_THROWS_AS(write_figures(small_experiment(), small_report(), scratch / "file" / "c"),
                    tapestry::IoError);
}

TEST_CASE("the list of experiments") {
    std::set<std::string> names;
    for (const Experiment& e : all_experiments()) {
        CHECK_MESSAGE(names.insert(e.name).second, e.name);
        CHECK(e.question.find('?') != std::string::npos);
        CHECK(static_cast<bool>(e.report));
        std::set<std::string> claims;
        for (const Claim& claim : e.claims)
            CHECK_MESSAGE(claims.insert(claim.name).second, claim.name);
        CHECK_EQ(&find_experiment(e.name), &e);
    }
    CHECK(names.count("sqrt_dk") == 1);
    CHECK_THROWS_WITH_AS(find_experiment("sqrt"),
                         doctest::Contains("no experiment is called 'sqrt'"), tapestry::ValueError);
}

TEST_CASE("the same seed, the same report") {
    const Experiment& e = find_experiment("word_order");
    const Setting setting{.quick = true, .seed = 3, .seeds = 2};
    const Report first = run(e, setting).report, second = run(e, setting).report;
    CHECK_EQ(to_text(e, first), to_text(e, second));
    CHECK_EQ(first.figures.at(0).svg, second.figures.at(0).svg);
    CHECK(to_text(e, run(e, {.quick = true, .seed = 4}).report) != to_text(e, first));
}
