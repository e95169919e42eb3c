// Standard streams that are closed, full or without a reader: training continues or is saved, exit
// codes stay the same, and printed text never ends up in a file.
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/skip.h>

#include <csignal>
#include <nlohmann/json.hpp>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

struct StreamsPlace : Place {
    StreamsPlace() { spill(*this / "t.txt", simple_text()); }
};

}  // namespace

TEST_CASE("cli: what is printed to a closed stream goes into no file") {
    const StreamsPlace place;
    CHECK_EQ(place.run(tiny_training({"--eval-every", "5"}), {.closed = {0, 1, 2}}).code, 0);
    const auto lines = lines_of(slurp(place / "m" / "metrics.jsonl"));
    CHECK_EQ(lines.size(), 22);  // the configuration, the steps, and the end
    for (const std::string& line : lines) CHECK(nlohmann::json::accept(line));
    check_done(place.run({"curve", "m"}));
    CHECK(samples(place, "m"));
}

TEST_CASE("cli: an error that cannot be printed ends the command in the same way") {
    if (!fs::exists("/dev/full")) return skip("there is no /dev/full");
    const StreamsPlace place;
    CHECK_EQ(place.run({"sample", "--model", "none"}, {.stderr_to = "/dev/full"}).code, 2);
    // A report that cannot be written is reported as well, and does not end the run.
    fs::create_directories(place / "m" / "report.html");
    CHECK_EQ(place.run(tiny_training(), {.stderr_to = "/dev/full"}).code, 0);
    CHECK(samples(place, "m"));
}

TEST_CASE("cli train: a reader that goes away ends it as an interrupt does") {
    const StreamsPlace place;
    const Outcome outcome = place.run(tiny_training({"--steps", "100000000", "--eval-every", "2"}),
                                      {.read_at_most = 10});
    CHECK_EQ(outcome.err, "");
    CHECK_EQ(outcome.code, 130);
    CHECK(samples(place, "m"));
}

TEST_CASE("cli train: a full stdout is reported at the end, and the model is saved") {
    if (!fs::exists("/dev/full")) return skip("there is no /dev/full");
    const StreamsPlace place;
    check_refused(place.run(tiny_training(), {.stdout_to = "/dev/full"}), "could not be written");
    CHECK(samples(place, "m"));
}
