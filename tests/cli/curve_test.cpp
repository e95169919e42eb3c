// curve: plots metrics.jsonl, complete or still being written; damage is reported with its line.
#include <tapestry/tests/cli/command.h>

using namespace tapestry::test;

namespace {

const std::string kThreeSteps =
    "{\"step\":1,\"loss\":4.0,\"lr\":0.1}\n"
    "{\"step\":2,\"loss\":2.0,\"lr\":0.1}\n"
    "{\"step\":3,\"loss\":1.0,\"lr\":0.1,\"val_loss\":1.5}\n";
const std::string kEnd = "{\"event\":\"end\",\"step\":3,\"loss\":1.0,\"val_loss\":1.5}\n";

void put_metrics(const Place& place, const std::string& directory, const std::string& text) {
    std::filesystem::create_directories(place / directory);
    spill(place / directory / "metrics.jsonl", text);
}

}  // namespace

TEST_CASE("cli curve: word for word") {
    const Place place;
    put_metrics(place, "m", kThreeSteps + kEnd);
    const Outcome outcome = place.run({"curve", "m", "--width", "40", "--height", "7"});
    check_done(outcome);
    CHECK_EQ(outcome.out,
             "m: step 3, loss 1.0000, validation loss 1.5000 at step 3\n"
             "\n"
             "4 +*\n"
             "  |\n"
             "3 +\n"
             "  |\n"
             "2 +                  *\n"
             "  |                                    o\n"
             "1 +                                    *\n"
             "  ++-----------------+-----------------+\n"
             "   1                 2                 3\n"
             "* loss  o validation loss  by step\n");
}

TEST_CASE("cli curve: what a training wrote, several of them, logarithms, the usual width") {
    const Place place;
    spill(place / "t.txt", simple_text());
    check_done(place.run(tiny_training({"--eval-every", "5"})));
    put_metrics(place, "other", kThreeSteps);
    const Outcome outcome = place.run({"curve", "m", "other", "--log"});
    check_done(outcome);
    CHECK(outcome.out.starts_with("m: step 20, loss "));
    CHECK(outcome.out.find("\nother: step 3, loss 1.0000") != std::string::npos);
    CHECK(outcome.out.find("* m: loss  o m: validation loss  x other: loss") != std::string::npos);
    std::size_t widest = 0;
    for (const std::string& line : lines_of(outcome.out)) widest = std::max(widest, line.size());
    CHECK_EQ(widest, 80);
}

TEST_CASE("cli curve: a run that has not ended") {
    const Place place;
    const auto steps = [&](const std::string& text) {
        put_metrics(place, "m", text);
        const Outcome outcome = place.run({"curve", "m"});
        check_done(outcome);
        return outcome.out.substr(0, outcome.out.find(','));
    };
    CHECK_EQ(steps(kThreeSteps), "m: step 3");
    CHECK_EQ(steps(kThreeSteps + "{\"step\":4,\"lo"), "m: step 3");
    CHECK_EQ(steps(kThreeSteps + "{\"step\":4,\"loss\":1"), "m: step 3");
    CHECK_EQ(steps(kThreeSteps + "{\"step\":4,\"loss\":1}"), "m: step 4");
    CHECK_EQ(steps(kThreeSteps + "{\"step\":4,\"loss\":null}\n"), "m: step 4");  // a gap
}

TEST_CASE("cli curve: a huge loss has few digits, here and in a list of runs") {
    const Place place;
    put_metrics(place, "m",
                "{\"step\":1,\"loss\":999999.25}\n"
                "{\"step\":2,\"loss\":612345678901234567,\"val_loss\":6e17}\n");
    const Outcome curve = place.run({"curve", "m"});
    check_done(curve);
    CHECK(curve.out.starts_with("m: step 2, loss 6.1235e+17, validation loss 6e+17 at step 2\n"));
    const Outcome list = place.run({"runs", "m"});
    check_done(list);
    CHECK(list.out.find(" 6.1235e+17 ") != std::string::npos);
    CHECK(list.out.find(" 6e+17 at step 2 ") != std::string::npos);
    put_metrics(place, "m", "{\"step\":1,\"loss\":999999.25}\n");
    CHECK(place.run({"curve", "m"}).out.starts_with("m: step 1, loss 999999.2500\n"));
}

TEST_CASE("cli curve: what cannot be drawn") {
    const Place place;
    const auto refused = [&](const std::string& text, const std::string& words) {
        put_metrics(place, "m", text);
        check_refused(place.run({"curve", "m"}), words);
    };
    refused("", "'m/metrics.jsonl': contains no steps yet");
    refused("{\"st", "contains no steps yet");
    refused(kThreeSteps + "oops\n" + kThreeSteps, "'m/metrics.jsonl': line 4: 'oops' is not JSON");
    refused("[1]\n" + kThreeSteps, "line 1: '[1]' is not a JSON object");
    refused(kThreeSteps + "\n" + kEnd, "line 4: '' is not JSON");
    refused(kThreeSteps + "{\"step\":4}\n", "line 4: \"loss\" is missing");
    refused(kThreeSteps + "{\"step\":\"4\",\"loss\":1}\n",
            "line 4: \"step\" must be a number, got \"4\"");
    refused(kThreeSteps + "{\"step\":null,\"loss\":1}\n", "line 4: \"step\" is null");
    refused("{\"step\":1,\"loss\":[]}\n", "line 1: \"loss\" must be a number, got array");
    refused("{\"step\":1,\"loss\":null}\n", "m: no point can be drawn: no loss is a number");
    put_metrics(place, "m", "{\"step\":1,\"loss\":0}\n");
    check_done(place.run({"curve", "m"}));
    check_refused(place.run({"curve", "m", "--log"}), "no loss is a positive number");
    check_refused(place.run({"curve", "none"}), "'none': no such directory");
    check_refused(place.run({"curve"}), "directories is required");
    check_refused(place.run({"curve", "m", "--width", "39"}), "--width");
    check_refused(place.run({"curve", "m", "--height", "3"}), "--height");
}

TEST_CASE("cli curve: of more runs than there are marks for, the best are drawn and all listed") {
    const Place place;
    Arguments curve{"curve", "--width", "60"};
    for (int i = 0; i < 20; ++i) {
        const std::string name = fmt::format("r{:02}", i);
        put_metrics(place, name,
                    fmt::format("{{\"step\":1,\"loss\":3,\"val_loss\":{}}}\n", 5 - 0.1 * i));
        curve.push_back(name);
    }
    const Outcome outcome = place.run(curve);
    check_done(outcome);
    CHECK(outcome.out.find("drawn: the 17 of 20 runs with the lowest validation losses\n") !=
          std::string::npos);
    CHECK_EQ(outcome.out.find("r02: step 1"), std::string::npos);
    CHECK(outcome.out.find("r03: step 1") != std::string::npos);
    const std::string table = outcome.out.substr(outcome.out.find("\nrun "));
    CHECK_EQ(lines_of(table).size(), 1 + 1 + 20);
    CHECK(table.find("r00 ") != std::string::npos);
}
