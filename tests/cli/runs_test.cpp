// runs: lists runs as text, CSV and JSON, and writes their steps for other programs; what a run
// says when it is interrupted; a run limited by time.
#include <tapestry/core/clock.h>
#include <tapestry/tests/cli/command.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>

using namespace tapestry::test;
using Json = nlohmann::json;

namespace {

struct RunsPlace : Place {
    RunsPlace() {
        spill(*this / "t.txt", simple_text());
        for (const char* lr : {"1e-3", "3e-3"}) {
            check_done(run(tiny_training({"--out", fmt::format("runs/{}", lr), "--lr", lr,
                                          "--eval-every", "10", "--checkpoint-every", "0"})));
        }
    }
};

}  // namespace

TEST_CASE("cli runs: text, CSV and JSON of runs without checkpoints, with their options") {
    const RunsPlace place;
    const Outcome text = place.run({"runs", "runs"});
    check_done(text);
    REQUIRE_EQ(lines_of(text.out).size(), 3);
    CHECK(lines_of(text.out)[0].starts_with("run "));
    CHECK(lines_of(text.out)[0].find(" --lr ") != std::string::npos);
    CHECK(text.out.find("0.003") != std::string::npos);
    CHECK(text.out.find("finished at step 20") != std::string::npos);
    const Outcome csv = place.run({"runs", "runs", "--csv"});
    check_done(csv);
    CHECK(csv.out.starts_with("run,state,steps,loss,"));
    CHECK_EQ(lines_of(csv.out).size(), 3);
    const Outcome outcome = place.run({"runs", "runs/1e-3", "runs/3e-3", "--json"});
    check_done(outcome);
    const Json json = Json::parse(outcome.out);
    REQUIRE_EQ(json.size(), 2);
    CHECK_EQ(json[0].at("steps"), 20);
    CHECK_EQ(json[0].at("options").at("--context"), "16");
    check_done(place.run(tiny_training({"--out",
                                        "runs/other",
                                        "--lr",
                                        "1e-3",
                                        "--eval-every",
                                        "10",
                                        "--checkpoint-every",
                                        "0",
                                        "--seed",
                                        "3",
                                        "--warmup",
                                        "4",
                                        "--clip",
                                        "2",
                                        "--dropout",
                                        "0.1",
                                        "--weight-decay",
                                        "0.2",
                                        "--beta2",
                                        "0.9"})));
    const Outcome wide = place.run({"runs", "runs"});
    check_done(wide);
    const auto lines = lines_of(wide.out);
    REQUIRE_EQ(lines.size(), 5);
    std::size_t columns = 0;
    for (auto at = lines[0].find(" --"); at != std::string::npos;
         at = lines[0].find(" --", at + 1)) {
        ++columns;
    }
    CHECK_EQ(columns, 5);
    CHECK(lines[4].starts_with("also different, see --csv: --"));
    const Outcome twice = place.run({"runs", "runs/1e-3", "runs/1e-3/", "./runs/1e-3"});
    check_done(twice);
    CHECK_EQ(lines_of(twice.out).size(), 2);
    CHECK(lines_of(twice.out)[1].starts_with("runs/1e-3 "));
    check_refused(place.run({"runs", "t.txt"}), "'t.txt': not a directory");
    check_refused(place.run({"runs", "runs", "--csv", "--json"}), "--csv excludes --json");
    check_refused(place.run({"runs", "runs", "--csv", "--steps", "steps.csv"}), "excludes");
    check_refused(place.run({"runs", "runs", "--json", "--tensorboard", "tb"}), "excludes");
}

TEST_CASE("cli runs: steps as CSV and as TensorBoard's event files") {
    const RunsPlace place;
    const Outcome outcome =
        place.run({"runs", "runs", "--steps", "steps.csv", "--tensorboard", "tb"});
    check_done(outcome);
    CHECK_EQ(outcome.out,
             "'steps.csv': the steps of 2 runs\n"
             "'tb': 2 event files; `tensorboard --logdir tb` shows them\n");
    const auto lines = lines_of(slurp(place / "steps.csv"));
    CHECK_EQ(lines.size(), 1 + 2 * 20);
    CHECK(lines[1].starts_with("runs/1e-3,1,"));
    std::size_t files = 0;
    for (const char* name : {"tb/1e-3", "tb/3e-3"}) {
        for (const auto& entry : std::filesystem::directory_iterator(place / name)) {
            CHECK(slurp(entry.path()).find("brain.Event:2") != std::string::npos);
            ++files;
        }
    }
    CHECK_EQ(files, 2);
}

TEST_CASE("cli train: an interrupted run says where it is and how it goes on") {
    const Place place;
    spill(place / "t.txt", simple_text());
    Process process(tiny_training({"--steps", "100000000", "--eval-every", "0"}), place.path());
    REQUIRE(wait_until([&] {
        return std::filesystem::exists(place / "m/metrics.jsonl") &&
               lines_of(slurp(place / "m/metrics.jsonl")).size() > 5;
    }));
    process.send(SIGINT);
    const Outcome outcome = process.wait();
    CHECK_EQ(outcome.code, 130);
    CHECK_EQ(outcome.err, "");
    const std::size_t at = outcome.out.find("interrupted at step ");
    REQUIRE(at != std::string::npos);
    CHECK(outcome.out.find(" of 100000000; --resume continues\n", at) != std::string::npos);
    CHECK(outcome.out.find("saved in m (") != std::string::npos);
    const int step = std::stoi(outcome.out.substr(at + 20));
    const std::string steps = std::to_string(step + 5);
    const Outcome resumed =
        place.run({"train", "--out", "m", "--resume", "--override", "steps", "--steps", steps});
    check_done(resumed);
    CHECK(resumed.out.starts_with(fmt::format("resuming in m after step {} of {}\n", step, steps)));
}

TEST_CASE("cli train: --minutes ends in time, and says how much is left") {
    const Place place;
    spill(place / "t.txt", simple_text());
    const Outcome outcome = place.run(
        tiny_training({"--minutes", "10", "--eval-every", "1000", "--min-lr", "0", "--dim", "32"}));
    // "--steps 20" of tiny_training is the maximum.
    check_done(outcome);
    CHECK(outcome.out.find("20 steps in ") != std::string::npos);
    double least = 1e9;  // seconds, of several: a process may wait long for a processor
    Outcome timed;
    for (int tries = 0; tries < 5 && least >= 30; ++tries) {
        std::filesystem::remove_all(place / "n");
        const auto began = tapestry::Clock::now();
        timed = place.run({"train", "--text",    "t.txt", "--out",   "n", "--minutes",
                           "0.01",  "--layers",  "1",     "--heads", "2", "--dim",
                           "16",    "--context", "16",    "--batch", "2", "--eval-batches",
                           "2",     "--min-lr",  "0"});
        check_done(timed);
        least = std::min(least, tapestry::seconds_since(began));
    }
    CHECK_LT(least, 30);
    CHECK_EQ(timed.out.find("1000000000"), std::string::npos);
    const auto lines = lines_of(slurp(place / "n/metrics.jsonl"));
    const Json last = Json::parse(lines.at(lines.size() - 2));
    CHECK_EQ(last.at("progress"), 1.0);
    CHECK_EQ(last.at("lr"), 0.0);
    const Outcome again = place.run({"train", "--out", "n", "--resume"});
    check_done(again);
    CHECK(again.out.find("nothing to do: all ") != std::string::npos);
    check_done(place.run({"rewind", "n", "--all"}));
}
