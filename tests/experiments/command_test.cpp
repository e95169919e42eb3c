// tapestry experiment: listing, running one, the Markdown file and its figures, errors.
#include <tapestry/core/file.h>
#include <tapestry/tests/cli/command.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <sstream>

using namespace tapestry;
using namespace tapestry::test;

namespace {

bool has(const std::string& text, const std::string& what) {
    return text.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("cli experiment: --help goes to stdout") {
    const Place place;
    const Outcome outcome = place.run({"experiment", "--help"});
    check_done(outcome);
    CHECK(has(outcome.out, "Usage: tapestry experiment"));
}

TEST_CASE("cli experiment: without a name they are listed") {
    const Place place;
    const Outcome outcome = place.run({"experiment"});
    check_done(outcome);
    CHECK(has(outcome.out, "sqrt_dk"));
    CHECK(has(outcome.out, "Why divide by sqrt(d_k)?"));
    CHECK(has(outcome.out, "word_order"));
    CHECK_FALSE(std::filesystem::exists(place / "experiments"));
}

TEST_CASE("cli experiment: one by name") {
    const Place place;
    const Outcome outcome = place.run({"experiment", "by_hand", "--out", "pictures"});
    check_done(outcome);
    CHECK(has(outcome.out, "The robot hit the ball"));
    CHECK(has(outcome.out, "Holds: A step by hand"));
    CHECK(has(outcome.out, "picture: pictures/by_hand-weights.svg"));
    CHECK(has(read_file(place / "pictures" / "by_hand-weights.svg"), "</svg>"));
}

TEST_CASE("cli experiment: the Markdown file finds its pictures") {
    const Place place;
    std::filesystem::create_directory(place / "docs");
    const Outcome outcome =
        place.run({"experiment", "word_order", "--quick", "--markdown", "docs/found.md"});
    check_done(outcome);
    const std::string text = read_file(place / "docs" / "found.md");
    CHECK(
        has(text,
            "tapestry experiment word_order --quick --seed 1 --seeds 3 --markdown docs/found.md"));
    CHECK(has(text, "## \"dog bites man\" or \"man bites dog\"?"));
    CHECK(has(text, "](found/word_order-words.svg)"));
    CHECK(std::filesystem::exists(place / "docs" / "found" / "word_order-words.svg"));
    check_done(place.run({"experiment", "word_order", "--quick", "--markdown", "docs/found.md",
                          "--out", "elsewhere"}));
    CHECK(has(read_file(place / "docs" / "found.md"), "](../elsewhere/word_order-words.svg)"));
}

TEST_CASE("cli experiment: seeds, and all numbers as JSON") {
    const Place place;
    const Outcome outcome = place.run({"experiment", "word_order", "--quick", "--seed", "7",
                                       "--seeds", "2", "--json", "found.json"});
    check_done(outcome);
    CHECK(has(outcome.out, "(2 values)"));
    const std::string json = read_file(place / "found.json");
    CHECK(has(json, "\"seed\": 7"));
    CHECK(has(json, "\"verdict\": \"holds\""));
    // The same numbers again, except for durations.
    check_done(place.run({"experiment", "word_order", "--quick", "--seed", "7", "--seeds", "2",
                          "--threads", "1", "--json", "again.json"}));
    const auto numbers = [](const std::string& text) {
        std::istringstream lines(text);
        std::string kept;
        for (std::string line; std::getline(lines, line);) {
            if (!has(line, "\"seconds\"") && !has(line, "\"command\"")) kept += line + "\n";
        }
        return kept;
    };
    CHECK_EQ(numbers(read_file(place / "again.json")), numbers(json));
}

TEST_CASE("cli experiment: verdicts of files are compared") {
    const Place place;
    for (const char* seed : {"1", "3"}) {
        check_done(place.run({"experiment", "word_order", "--quick", "--seed", seed, "--seeds", "2",
                              "--json", std::string(seed) + ".json"}));
    }
    const Outcome outcome = place.run({"experiment", "--compare", "1.json", "3.json", "1.json"});
    check_done(outcome);
    CHECK(has(outcome.out, "1.json and 3.json:\n"));
    CHECK(has(outcome.out, "seeds 1 to 2 and seeds 3 to 4\n"));
    CHECK(has(outcome.out, "\n\n1.json and 1.json:\n5 claims, seeds 1 to 2 and seeds 1 to 2\n"));
    check_refused(place.run({"experiment", "--compare", "1.json"}), "needs two files or more");
    check_refused(place.run({"experiment", "--compare", "1.json", "none.json"}), "none.json");
    write_file_atomically(place / "other.json", "{}");
    check_refused(place.run({"experiment", "--compare", "1.json", "other.json"}),
                  "other.json: not the results of experiments");
    // Every error names its file, also of what can be read but is of another version.
    const auto with = [&](const std::string& what, const std::string& instead) {
        std::string text = read_file(place / "3.json");
        text.replace(text.find(what), what.size(), instead);
        write_file_atomically(place / "other.json", text);
        return place.run({"experiment", "--compare", "1.json", "other.json"});
    };
    check_refused(with("\"name\": \"word_order\"", "\"name\": \"none\""),
                  "other.json: no experiment is called 'none'");
    check_refused(with("{\"name\": \"order_is_lost\"", "{\"name\": \"another\""),
                  "other.json: experiment word_order: its results have no claim 'order_is_lost'");
    check_refused(with("\"quick\": true", "\"quick\": false"),
                  "1.json and other.json: verdicts of quick runs");
    check_refused(place.run({"experiment", "word_order", "--compare", "1.json", "3.json"}),
                  "--compare");
    check_refused(place.run({"experiment", "--seeds", "2", "--compare", "1.json", "3.json"}),
                  "--compare");
}

TEST_CASE("cli experiment: what is refused") {
    const Place place;
    check_refused(place.run({"experiment", "by_hand", "by_hand"}), "named twice");
    check_refused(place.run({"experiment", "--quick"}),
                  "experiment: --quick is for an experiment; name one, or all");
    check_refused(place.run({"experiment", "by_hand", "--seeds", "0"}), "--seeds");
    check_refused(place.run({"experiment", "by_hand", "--model", "x"}), "asks no model");
    check_refused(place.run({"experiment", "layers_roles", "--quick", "--model", "none"}), "none");
    check_refused(place.run({"experiment", "sqrt"}), "no experiment is called 'sqrt'");
    check_refused(place.run({"experiment", "by_hand", "--seed", "-1"}), "--seed");
    write_file_atomically(place / "file", "");
    check_refused(place.run({"experiment", "by_hand", "--out", "file"}), "file");
    check_refused(place.run({"experiment", "by_hand", "--markdown", "none/found.md"}),
                  "none/found.md");
}
