// Text classifiers from the command: one label per text and several, thresholds, int8 files, and
// bad input.
#include <tapestry/tests/cli/command.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <filesystem>

using namespace tapestry::test;
using Json = nlohmann::json;

namespace {

const Arguments kSmall{"--steps",   "60",   "--batch",      "16", "--dim",      "8",
                       "--lr",      "0.05", "--warmup",     "5",  "--threads",  "1",
                       "--buckets", "1000", "--eval-every", "20", "--no-report"};

struct TextsPlace : Place {
    TextsPlace() {
        std::string one, several;
        for (int i = 0; i < 120; ++i) {
            const char* const label = i % 2 == 0 ? "good" : "bad";
            one += fmt::format("__label__{} a {} day {}\n", label, label, i % 7);
            several += fmt::format("{}__label__{} a {} day{}\n", i % 3 == 0 ? "__label__long " : "",
                                   label, label, i % 3 == 0 ? " for ever" : "");
        }
        spill(*this / "one.txt", one);
        spill(*this / "several.txt", several);
    }
    Outcome train(const std::string& text, const std::string& out) const {
        return run(Arguments{"train", "--task", "classify", "--text", text, "--out", out} + kSmall);
    }
    Outcome classify(const Arguments& more, const std::string& text) const {
        spill(*this / "in.txt", text);
        return run(Arguments{"classify"} + more, {.stdin_from = (*this / "in.txt").string()});
    }
};

}  // namespace

TEST_CASE("cli classify: several labels, a threshold, scores with their calibration") {
    const TextsPlace place;
    const Outcome trained = place.train("several.txt", "m");
    check_done(trained);
    CHECK(trained.out.find("several.txt: 120 texts, 3 labels, 1.33 per text, the first text with "
                           "two in line 1, so each label has a separate probability (sigmoid, "
                           "binary cross-entropy)") != std::string::npos);
    CHECK(trained.out.find("12 held-out texts: expected calibration error 0.") !=
          std::string::npos);
    const Outcome found = place.classify({"--model", "m"}, "a good day for ever\na bad day\n");
    check_done(found);
    const auto lines = lines_of(found.out);
    REQUIRE_EQ(lines.size(), 2);
    CHECK(lines[0].find("good\t") != std::string::npos);
    CHECK(lines[0].find("long\t") != std::string::npos);
    CHECK(lines[1].starts_with("bad\t"));
    CHECK(lines[1].find("long") == std::string::npos);
    CHECK_EQ(place.classify({"--model", "m", "--threshold", "1"}, "a bad day\n").out, "\n");
    const Outcome all = place.classify({"--model", "m", "--top-k", "3"}, "a bad day\n");
    for (const char* label : {"bad\t", "\tgood\t", "\tlong\t"}) {
        CHECK(all.out.find(label) != std::string::npos);
    }
    const Outcome measured = place.run({"eval", "--model", "m", "--text", "several.txt", "--json"});
    check_done(measured);
    const Json scores = Json::parse(measured.out);
    CHECK_EQ(scores["texts"], 120);
    CHECK_EQ(scores["micro_f1"], 1.0);
    CHECK_EQ(scores["precision_at_1"], 1.0);
    CHECK(scores["temperature"] != 1.0);
    const Outcome strict =
        place.run({"eval", "--model", "m", "--text", "several.txt", "--threshold", "1"});
    CHECK(strict.out.starts_with("micro F1 0.0000, macro F1 0.0000, precision@1 1.0000"));
    CHECK(strict.out.find("a label is predicted from a probability of 1.000 on\n") !=
          std::string::npos);
    CHECK(trained.out.find("labels are predicted from a probability of " +
                           fmt::format("{:.3f}", scores["threshold"].get<double>()) +
                           " on: micro F1 ") != std::string::npos);
    check_done(place.run({"inspect", "--model", "m", "--prompt", "a good day", "--target",
                          "good;long", "--out", "p.html"}));
}

TEST_CASE("cli classify: int8 rows, opened by classify and eval") {
    const TextsPlace place;
    check_done(place.train("one.txt", "m"));
    const Outcome made = place.run({"export", "--model", "m", "--out", "s", "--int8"});
    check_done(made);
    CHECK(made.out.starts_with("saved in s: rows in int8, 12."));
    CHECK(made.out.find(" KB instead of 32.") != std::string::npos);
    CHECK(std::filesystem::file_size(place / "s/model.safetensors") * 2 <
          std::filesystem::file_size(place / "m/model.safetensors"));
    const auto accuracy = [&](const char* model) {
        const Outcome measured =
            place.run({"eval", "--model", model, "--text", "one.txt", "--json"});
        check_done(measured);
        return Json::parse(measured.out)["accuracy"];
    };
    CHECK_EQ(accuracy("s"), accuracy("m"));
    CHECK(place.classify({"--model", "s"}, "a good day\n").out.starts_with("good\t"));
    check_refused(place.run({"export", "--model", "m", "--out", "s", "--int8"}),
                  "'s': already contains an export; --overwrite replaces it");
    check_done(place.run({"export", "--model", "m", "--out", "s", "--int8", "--overwrite"}));
    check_refused(place.run({"export", "--model", "s", "--out", "m", "--int8", "--overwrite"}),
                  "'m': already contains a model; choose another directory");
    check_refused(place.run({"export", "--model", "m", "--out", "e"}),
                  "export: 'm' is a text classifier, which transformers does not have; use --int8");
    check_refused(place.run({"export", "--model", "m", "--out", "e", "--int8", "--bf16"}),
                  "export: --int8 and --bf16 exclude each other");
    CHECK_FALSE(std::filesystem::exists(place / "e"));
    // A commit that was interrupted before it renamed the weights into place.
    const Json manifest = Json::parse(slurp(place / "m/tapestry-manifest.json"));
    const auto stage = manifest["stage"].get<std::string>();
    std::filesystem::rename(place / "m/model.safetensors",
                            place / ("m/.saving-" + stage + "-model.safetensors"));
    check_done(place.run({"export", "--model", "m", "--out", "e", "--int8"}));
}

TEST_CASE("cli classify: what does not fit is refused in one line") {
    const TextsPlace place;
    check_done(place.train("one.txt", "m"));
    check_refused(place.run({"eval", "--model", "m", "--text", "several.txt"}),
                  "several.txt:1: has 2 labels; the model gives each text exactly one");
    spill(place / "blank.txt", "\n \n");
    check_refused(place.run({"eval", "--model", "m", "--text", "blank.txt"}),
                  "blank.txt: no texts; each needs a line with its label");
    check_refused(place.run({"eval", "--model", "m", "--text", "one.txt", "--threshold", "0.5"}),
                  "eval: --threshold is for a model of several labels; m gives each text exactly "
                  "one");
    check_refused(place.classify({"--model", "m", "--threshold", "2"}, "x\n"), "--threshold");
    check_refused(place.run({"classify", "--model", "m"}, {.stdin_from = "."}),
                  "stdin: cannot be read");
    CHECK_EQ(place.classify({"--model", "m", "--threshold", "1"}, "a bad day\n").out, "\n");
    const Outcome blank = place.classify({"--model", "m"}, "\n \r\na bad day\n");
    check_done(blank);
    CHECK(blank.out.starts_with("\n\nbad\t"));  // as translate and answer
    check_refused(place.run({"classify", "--model", "m", "--text", "none.txt"}),
                  "cannot open none.txt: No such file or directory");
    check_refused(place.run(Arguments{"train", "--task", "classify", "--text", "several.txt",
                                      "--model", "m", "--out", "n"} +
                            kSmall),
                  "--dim");
    check_refused(place.run({"train", "--task", "classify", "--text", "several.txt", "--model", "m",
                             "--out", "n", "--steps", "2"}),
                  "several.txt:1: has 2 labels; the model gives each text exactly one");
    spill(place / "twice.txt", "__label__a x\n__label__b __label__b y\n");
    check_refused(place.train("twice.txt", "n"), "twice.txt:2: has the label 'b' twice");
}
