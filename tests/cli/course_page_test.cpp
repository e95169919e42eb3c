// docs/course/18-what-makes-it-fast.md gives the scoreboard's last row as a command: it has as many
// parameters as the row says and learns; with TAPESTRY_TESTS=long (`.ci/long commands`) all of its
// steps come near the row's loss, which is an f64 model's with other random numbers.
#include <tapestry/examples/stories/stories.h>
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/skip.h>
#include <tapestry/tests/source_dir.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <sstream>

using namespace tapestry::test;

TEST_CASE("the course's scoreboard: its last row, from the command line") {
    const std::string page = slurp(source_dir() / "docs/course/18-what-makes-it-fast.md");
    std::smatch command, row, said;
    REQUIRE(std::regex_search(page, command, std::regex("\n    tapestry (train .*) --out m\n")));
    REQUIRE(std::regex_search(page, row,
                              std::regex(R"(\| fast recipe \| [^|]* \| (\d+) \| (\d\.\d+) \|)")));
    const Place place;
    spill(place / "stories.txt", tapestry::examples::write_stories(1, 200'000).text);
    Arguments arguments;
    std::istringstream words(command[1]);
    for (std::string word; words >> word;) arguments.push_back(word);
    for (const char* word : {"--out", "m", "--no-report"}) arguments.emplace_back(word);
    const auto steps = std::find(arguments.begin(), arguments.end(), "--steps");
    REQUIRE(std::distance(steps, arguments.end()) >= 2);
    if (!is_long()) *std::next(steps) = "200";
    const Outcome outcome = place.run(arguments, {.seconds = 600});
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    const std::string text = outcome.out + outcome.err;
    CHECK_MESSAGE(text.find(row[1].str() + " parameters") != std::string::npos, text);
    REQUIRE_MESSAGE(std::regex_search(text, said, std::regex(R"(validation loss (\d\.\d+))")),
                    text);
    const double loss = std::stod(said[1]), wanted = std::stod(row[2]);
    CHECK_LT(loss, wanted + (is_long() ? 0.08 : 0.7));
    CHECK_GT(loss, wanted - 0.08);
}
