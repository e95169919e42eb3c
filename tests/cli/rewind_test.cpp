// tapestry rewind, bisect and train --fork, as used after a loss spike.
#include <tapestry/tests/cli/command.h>

#include <nlohmann/json.hpp>

using namespace tapestry::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct RewindPlace : Place {
    RewindPlace() { spill(*this / "t.txt", simple_text()); }

    Json line(const char* directory, std::size_t step) const {
        return Json::parse(lines_of(slurp(*this / directory / "metrics.jsonl"))
                               .at(step));  // after the configuration
    }
    void train(const Arguments& more = {}) const {
        check_done(run(tiny_training(Arguments{"--out", "m", "--steps", "60", "--dropout", "0.1",
                                               "--accumulate", "2", "--eval-every", "16",
                                               "--hash-every", "4"} +
                                     more)));
    }
};

bool has(const Outcome& outcome, const std::string& words) {
    return outcome.out.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("cli rewind: a step's numbers, its text, its page, its tape") {
    const RewindPlace place;
    place.train();
    const Outcome plain = place.run({"rewind", "m", "--step", "37"});
    check_done(plain);
    INFO(plain.out);
    CHECK(has(plain, "step 37: loss " + place.line("m", 37)["loss"].dump()));
    CHECK(has(plain, "the same bits as metrics.jsonl\n"));
    CHECK(has(plain, ", which metrics.jsonl does not have\n"));
    CHECK(has(plain, "; it learned from\n   1  '"));
    const Outcome hashed = place.run({"rewind", "m", "--step", "36", "--threads", "1"});
    check_done(hashed);
    CHECK(has(hashed, "grad_xxh3 " + place.line("m", 36)["grad_xxh3"].get<std::string>() + "\n"));
    CHECK_FALSE(place.line("m", 37).contains("grad_xxh3"));
    const Outcome shown =
        place.run({"rewind", "m", "--step", "1", "--inspect", "p.html", "--print"});
    check_done(shown);
    CHECK(has(shown, "replayed from the beginning; it learned from\n"));
    CHECK(has(shown, "Step 1, replayed"));
    CHECK(has(shown, "'p.html': "));
    CHECK(slurp(place / "p.html").starts_with("<!doctype html>"));
}

TEST_CASE("cli rewind: all steps, one after the other") {
    const RewindPlace place;
    place.train();
    const Outcome all = place.run({"rewind", "m", "--all"});
    check_done(all);
    CHECK_EQ(all.out,
             "60 of 60 steps: the same bits as metrics.jsonl, 15 of them with grad_xxh3\n");
    check_refused(place.run({"rewind", "m", "--all", "--step", "3"}), "--step excludes --all");
    check_refused(place.run({"rewind", "m", "--all", "--print"}), "--all excludes --print");
    check_refused(place.run({"rewind", "m", "--all", "--width", "60"}), "excludes");
}

TEST_CASE("cli rewind: numbers that are not those of metrics.jsonl are named") {
    const RewindPlace place;
    place.train();
    std::string metrics = slurp(place / "m" / "metrics.jsonl");
    const std::string loss = "\"loss\":" + place.line("m", 20)["loss"].dump();
    metrics.replace(metrics.find(loss), loss.size(), "\"loss\":1.5");
    spill(place / "m" / "metrics.jsonl", metrics);
    const Outcome outcome = place.run({"rewind", "m", "--step", "20"});
    CHECK_EQ(outcome.code, 1);
    CHECK(has(outcome, "metrics.jsonl differs: loss was 1.5 and is " + loss.substr(7)));
    const Outcome all = place.run({"rewind", "m", "--all"});
    CHECK_EQ(all.code, 1);
    CHECK(all.out.starts_with("step 20: metrics.jsonl differs: loss was 1.5 and is "));
    CHECK(has(all, "\n59 of 60 steps: the same bits as metrics.jsonl"));
}

TEST_CASE("cli rewind: what cannot be") {
    const RewindPlace place;
    check_refused(place.run({"rewind", "m", "--step", "1"}), "'m': no such directory");
    place.train({"--rewind-budget", "0"});
    for (const char* step : {"0", "-3", "61"}) {
        check_refused(place.run({"rewind", "m", "--step", step}),
                      std::string("rewind: step ") + step + ": 'm' has steps 1 to 60");
    }
    check_refused(place.run({"rewind", "m"}), "--step is required");
    fs::rename(place / "t.txt", place / "u.txt");
    check_refused(place.run({"rewind", "m", "--step", "3"}),
                  "'m': the run learned from 't.txt', which is not there; give its new place with "
                  "--text or --data");
    check_done(place.run({"rewind", "m", "--step", "3", "--text", "u.txt"}));
    spill(place / "v.txt", simple_text(1900));
    check_refused(place.run({"rewind", "m", "--step", "60", "--text", "v.txt"}),
                  "give its path with --text or --data");
    place.train({"--text", "u.txt", "--checkpoint-every", "0", "--overwrite"});
    check_refused(place.run({"rewind", "m", "--step", "1"}), "contains no checkpoint of a run");
}

TEST_CASE("cli bisect: where something happened first, and what opens it") {
    const RewindPlace place;
    place.train();
    const Json bound = place.line("m", 50)["loss"];
    std::size_t first = 1;
    while (place.line("m", first)["loss"] > bound) ++first;
    const Outcome loss = place.run({"bisect", "m", "--first", "loss <= " + bound.dump()});
    check_done(loss);
    CHECK(loss.out.starts_with("step " + std::to_string(first) + ": loss "));
    CHECK(has(loss, "looked at all 60 steps, in metrics.jsonl\n"));
    CHECK(has(loss, "\ntapestry rewind m --step " + std::to_string(first) + " --inspect"));
    const Outcome ratio = place.run({"bisect", "m", "--first", "update_ratio(blocks.0) > 1e-6"});
    check_done(ratio);
    CHECK(ratio.out.starts_with("step 1: update_ratio "));
    CHECK(has(ratio, "\nlooked at step 1\n"));
    const Outcome none = place.run({"bisect", "m", "--first", "non_finite", "--after", "50"});
    CHECK_EQ(none.code, 1);
    CHECK_EQ(none.out,
             "no step after 50 has non_finite\nlooked at step 51, then at each from 52 to 60\n");
    if (std::filesystem::exists("/dev/full")) {
        check_refused(
            place.run({"bisect", "m", "--first", "loss < 100"}, {.stdout_to = "/dev/full"}),
            "output could not be written");
    }
    check_refused(place.run({"bisect", "m", "--first", "grad_norn > 2"}),
                  "bisect: 'grad_norn > 2' is not a condition, such as 'grad_norm > 2'");
    check_refused(place.run({"bisect", "m", "--first", "update_ratio(x) > 2"}),
                  "bisect: no parameter or module is called 'x'");
    check_refused(place.run({"bisect", "m", "--first", "loss > 2", "--after", "60"}),
                  "bisect: no step comes after step 60; the last is 60");
}

TEST_CASE("cli fork: a run continues differently, and looks like one run") {
    const RewindPlace place;
    place.train();
    const Outcome outcome = place.run(
        {"train", "--fork", "m", "--step", "30", "--out", "n", "--lr", "0.5", "--hash-every", "4"});
    check_done(outcome);
    CHECK(
        outcome.out.starts_with("continuing in n after step 30 of m\n"
                                "lr differs from before (--fork)\n"));
    CHECK_EQ(lines_of(slurp(place / "n" / "metrics.jsonl")).size(), 62);
    CHECK_EQ(place.line("m", 30), place.line("n", 30));
    CHECK_NE(place.line("m", 33)["loss"], place.line("n", 33)["loss"]);
    for (const char* step : {"1", "30", "31", "60"}) {
        const Outcome again = place.run({"rewind", "n", "--step", step});
        check_done(again);
        CHECK(has(again, "the same bits as metrics.jsonl"));
    }
    CHECK(has(place.run({"curve", "n"}), "n: step 60, "));
    check_done(
        place.run({"train", "--resume", "--out", "n", "--steps", "70", "--override", "steps"}));
    CHECK_EQ(lines_of(slurp(place / "n" / "metrics.jsonl")).size(), 73);
    check_done(place.run({"rewind", "n", "--step", "70"}));
    const Outcome anew =
        place.run({"train", "--fork", "m", "--step", "0", "--out", "o", "--hash-every", "4"});
    check_done(anew);
    CHECK(slurp(place / "o" / "model.safetensors") == slurp(place / "m" / "model.safetensors"));
}

TEST_CASE("cli fork: what cannot be") {
    const RewindPlace place;
    place.train();
    const auto fork = [&](const Arguments& more) {
        return place.run(Arguments{"train", "--fork", "m"} + more);
    };
    check_refused(fork({"--out", "n"}), "--step");
    check_refused(fork({"--step", "3", "--out", "m"}), "--fork: m is also --out");
    check_refused(fork({"--step", "61", "--out", "n"}), "fork: step 61: 'm' has steps 1 to 60");
    check_refused(fork({"--step", "60", "--out", "n"}),
                  "fork: none of the 60 steps is left after step 60; set --steps higher");
    check_refused(fork({"--step", "3", "--out", "n", "--resume"}), "--resume excludes --fork");
    check_refused(fork({"--step", "3", "--out", "n", "--dim", "64"}),
                  "a model of the new settings: ");
    check_refused(place.run(tiny_training({"--out", "n", "--step", "3"})), "--fork");
    CHECK_FALSE(fs::exists(place / "n"));
}
