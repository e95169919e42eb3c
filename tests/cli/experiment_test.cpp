// tapestry experiment: listing, running one, the Markdown file and its pictures, what is refused.
#include <tapestry/core/file.h>
#include <tapestry/tests/cli/command.h>

#include <doctest/doctest.h>

#include <filesystem>

using namespace tapestry;
using namespace tapestry::test;

namespace {

bool has(const std::string& text, const std::string& what) {
    return text.find(what) != std::string::npos;
}

}  // namespace

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
    CHECK(has(outcome.out, "Holds."));
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
    CHECK(has(text, "tapestry experiment word_order --quick --seed 1 --seeds 3 --markdown docs/found.md"));
    CHECK(has(text, "## \"dog bites man\" or \"man bites dog\"?"));
    CHECK(has(text, "](found/word_order-words.svg)"));
    CHECK(std::filesystem::exists(place / "docs" / "found" / "word_order-words.svg"));
    check_done(place.run({"experiment", "word_order", "--quick", "--markdown", "docs/found.md",
                          "--out", "elsewhere"}));
    CHECK(has(read_file(place / "docs" / "found.md"), "](../elsewhere/word_order-words.svg)"));
}

TEST_CASE("cli experiment: what is refused") {
    const Place place;
    check_refused(place.run({"experiment", "sqrt"}), "no experiment is called 'sqrt'");
    check_refused(place.run({"experiment", "by_hand", "--seed", "-1"}), "--seed");
    write_file_atomically(place / "file", "");
    check_refused(place.run({"experiment", "by_hand", "--out", "file"}), "file");
    check_refused(place.run({"experiment", "by_hand", "--markdown", "none/found.md"}),
                  "none/found.md");
}
