// tapestry train --resume on a failing machine: the same command repeated, killed at any moment,
// with different numbers of threads.
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/optim/optimizer_registry.h>
#include <tapestry/tests/cli/command.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

struct ResumePlace : Place {
    ResumePlace() { spill(*this / "t.txt", simple_text()); }

    std::string weights(const char* directory) const {
        return slurp(*this / directory / "model.safetensors");
    }
};

// Options in `more` replace the defaults.
Arguments training(const std::string& out, const Arguments& more = {}) {
    Arguments all = more;
    for (const Arguments& option :
         {Arguments{"--steps", "400"}, {"--eval-every", "50"}, {"--dropout", "0.1"}}) {
        if (std::find(more.begin(), more.end(), option[0]) == more.end()) all = option + all;
    }
    return tiny_training(Arguments{"--out", out} + all);
}

}  // namespace

TEST_CASE("cli resume: killed at any moment, the same model in the end") {
    const ResumePlace place;
    check_done(place.run(training("whole")));
    int kills = 0;
    for (int milliseconds = 30; milliseconds < 4000 || kills == 0;
         milliseconds = milliseconds * 5 / 4) {
        Process process(training("m", {"--resume", "--checkpoint-every", "10", "--threads",
                                       std::to_string(1 + kills % 3)}),
                        place.path());
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        process.send(SIGKILL);
        if (process.wait().code != 0) {
            ++kills;
        } else if (kills > 0) {
            break;
        } else {  // this test got no processor until it had ended
            fs::remove_all(place / "m");
            milliseconds = 30;
        }
    }
    const Outcome last = place.run(training("m", {"--resume"}));
    check_done(last);
    CHECK(place.weights("m") == place.weights("whole"));
    const Outcome again = place.run({"train", "--resume", "--out", "m"});
    check_done(again);
    CHECK(again.out.find("nothing to do: all 400 steps are done") != std::string::npos);
}

TEST_CASE("cli resume: with every optimiser, killed and resumed, the same model") {
    for (const std::string& name : tapestry::optimizer_names()) {
        CAPTURE(name);
        const ResumePlace place;
        const Arguments options{"--optimizer", name, "--steps", "150"};
        check_done(place.run(training("whole", options)));
        const Arguments parts = options + Arguments{"--resume", "--checkpoint-every", "5"};
        for (const int milliseconds : {60, 120}) {
            Process process(training("m", parts), place.path());
            std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
            process.send(SIGKILL);
            process.wait();
        }
        check_done(place.run(training("m", parts)));
        CHECK(place.weights("m") == place.weights("whole"));
        check_done(place.run({"rewind", "m", "--all"}));
    }
}

TEST_CASE("cli resume: what is said of where it begins") {
    const ResumePlace place;
    const Outcome first = place.run(training("m", {"--resume", "--steps", "60"}));
    check_done(first);
    CHECK(first.out.starts_with("no checkpoint in m: starting at step 0\n"));
    check_refused(place.run({"train", "--resume", "--out", "n"}),
                  "--resume: no checkpoint in n; to start at step 0, give the options of the run "
                  "again, with what it learns from (--text, --data, ");
    CHECK_FALSE(fs::exists(place / "n"));
    check_refused(place.run({"train", "--out", "n"}), "--text is required");
    check_refused(place.run({"train", "--resume", "--out", "m", "--steps", "80"}),
                  "steps was 60 and is now 80; --override steps continues anyway");
    const Outcome longer = place.run({"train", "--resume", "--out", "m", "--steps", "80",
                                      "--override", "steps", "lr", "--lr", "0.5"});
    check_done(longer);
    CHECK(longer.out.starts_with("resuming in m after step 60 of 80\n"));
    CHECK(longer.out.find("steps differs from before (--override)\n") != std::string::npos);
    CHECK(longer.out.find("lr differs") != std::string::npos);
    CHECK_EQ(lines_of(slurp(place / "m" / "metrics.jsonl")).size(),
             83);  // two configurations, the end
    CHECK(place.run({"curve", "m"}).out.find("80") != std::string::npos);
}

TEST_CASE("cli resume: options that cannot be") {
    const ResumePlace place;
    check_refused(place.run(training("m", {"--keep", "0"})), "--keep");
    for (const char* interval : {"x", "-1", "1.5", "s", "10 s", "10m", "99999999999999999999"}) {
        check_refused(place.run(training("m", {"--checkpoint-every", interval})),
                      "must be a number of steps (500) or seconds (30s)");
    }
    CHECK_FALSE(fs::exists(place / "m"));
}

TEST_CASE("cli train: a run is replaced on request only") {
    const ResumePlace place;
    check_done(place.run(training("m", {"--overwrite"})));
    const std::string before = slurp(place / "m" / "model.safetensors");
    Arguments again = training("m", {"--overwrite", "--seed", "7"});
    std::erase(again, "--overwrite");
    check_refused(place.run(again), "'m': already contains a run, saved after step ");
    CHECK_EQ(slurp(place / "m" / "model.safetensors"), before);
    check_refused(place.run(training("m", {"--overwrite", "--resume"})),
                  "--resume excludes --overwrite");
    check_done(place.run(training("m", {"--overwrite", "--seed", "7"})));
    CHECK_NE(slurp(place / "m" / "model.safetensors"), before);
}

TEST_CASE("cli resume: as many checkpoints as are asked for, or none") {
    const ResumePlace place;
    check_done(place.run(training("m", {"--checkpoint-every", "0", "--best"})));
    CHECK_FALSE(fs::exists(place / "m" / "checkpoints"));
    CHECK(samples(place, "m"));
    CHECK(samples(place, "m/best"));
    check_refused(place.run(training("n", {"--best", "--eval-every", "0"})),
                  "train: --best chooses by validation losses, and --eval-every 0 takes none");
    for (const char* option : {"--keep", "--rewind-budget"}) {
        check_refused(place.run(training("n", {"--checkpoint-every", "0", option, "2"})),
                      std::string("train: ") + option +
                          " is about checkpoints, and --checkpoint-every 0 writes none");
    }
    const Arguments two{"--rewind-budget", "0", "--keep", "2"};
    check_done(place.run(training("m", two + Arguments{"--overwrite"})));
    // Those before the last may have been skipped, if writing took longer than all steps.
    check_done(place.run(
        Arguments{"train", "--resume", "--out", "m", "--override", "steps", "--steps", "420"} +
        two));
    CHECK_EQ(std::distance(fs::directory_iterator(place / "m" / "checkpoints"), {}), 2);
    CHECK_FALSE(fs::exists(place / "m" / "best"));
    CHECK_FALSE(fs::exists(place / "m" / "rewind"));
}

TEST_CASE("cli resume: a second training into a directory is refused with the first one's number") {
    const ResumePlace place;
    Process first(training("m", {"--steps", "100000000"}), place.path());
    REQUIRE(wait_until([&] { return fs::exists(place / "m" / "config.json"); }));
    const std::string number = slurp(place / "m" / ".lock");
    for (const Arguments& more : {Arguments{}, Arguments{"--resume"}}) {
        check_refused(place.run(training("m", more)), "'" + (place / "m").native() +
                                                          "': in use by another process, " +
                                                          number.substr(0, number.size() - 1));
    }
    CHECK(samples(place, "m"));  // reading needs no lock
    first.send(SIGINT);
    CHECK_EQ(first.wait().code, 130);
    CHECK_FALSE(fs::exists(place / "m" / ".lock"));
}
