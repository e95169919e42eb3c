// Pairs of texts from the command: a run, its translations and scores, and bad input.
#include <tapestry/tests/cli/command.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>

using namespace tapestry::test;
using Json = nlohmann::json;

namespace {

const Arguments kSmall{"--out",        "m",  "--steps",      "6",    "--batch",   "4",
                       "--layers",     "1",  "--heads",      "2",    "--dim",     "16",
                       "--warmup",     "2",  "--lr",         "0.02", "--threads", "1",
                       "--max-length", "12", "--eval-every", "3"};

// Three digits, and the same with spaces.
struct PairsPlace : Place {
    PairsPlace() {
        std::string lines;
        for (int i = 100; i < 160; ++i) {
            lines += fmt::format("{}\t{} {} {}\n", i, i / 100, i / 10 % 10, i % 10);
        }
        spill(*this / "p.tsv", lines);
    }
    Outcome train(const Arguments& more) const { return run(Arguments{"train"} + more + kSmall); }
};

}  // namespace

TEST_CASE("cli translate: trained on pairs, translated, measured, inspected") {
    const PairsPlace place;
    const Outcome trained = place.train({"--pairs", "p.tsv"});
    check_done(trained);
    CHECK(
        trained.out.find("p.tsv: 60 pairs, 11 characters in the vocabulary of both sides; training "
                         "on 54, validating on 6 with other sources") != std::string::npos);
    CHECK(trained.out.find("1 + 1 layers, 2 heads, dim 16, texts of up to 12 characters") !=
          std::string::npos);
    CHECK(trained.out.find("pairs/s") != std::string::npos);

    const Outcome one = place.run({"translate", "--model", "m", "123"});
    check_done(one);
    CHECK_EQ(std::count(one.out.begin(), one.out.end(), '\n'), 1);
    spill(place / "new.txt", "123\r\n111\n");
    const Outcome lines = place.run({"translate", "--model", "m", "--text", "new.txt"});
    check_done(lines);
    CHECK(lines.out.starts_with(one.out));
    CHECK_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 2);
    const Outcome map = place.run(
        {"translate", "--model", "m", "123", "--beam", "3", "--alignment", "--width", "60"});
    check_done(map);
    CHECK(map.out.find("[end] |") != std::string::npos);
    check_refused(place.run({"translate", "--model", "m", "123", "--length-penalty", "1"}),
                  "--length-penalty requires --beam");

    const Outcome measured = place.run({"eval", "--model", "m", "--pairs", "p.tsv", "--json"});
    check_done(measured);
    const Json scores = Json::parse(measured.out);
    CHECK_EQ(scores["pairs"], 60);
    CHECK_EQ(scores["characters"], 60 * 6);
    CHECK_EQ(scores["bleu_tokens"], "13a");
    const Outcome text =
        place.run({"eval", "--model", "m", "--text", "p.tsv", "--bleu-tokens", "char"});
    check_done(text);
    CHECK(text.out.find("(char), chrF2 ") != std::string::npos);

    check_done(place.run({"inspect", "--model", "m", "--prompt", "123", "--target", "1 2 3"}));
    check_done(place.run({"rewind", "m", "--all"}));
    check_done(place.run({"gradcheck", "--model", "m", "--text", "p.tsv", "--certainty", "0.5"}));
    check_done(place.run({"profile", "--model", "m", "--text", "p.tsv", "--steps", "1"}));
    check_refused(place.run({"sample", "--model", "m"}), "the model is an encoder-decoder");
    check_refused(place.run({"classify", "--model", "m"}), "the model is an encoder-decoder");
}

TEST_CASE("cli translate: the files say what is learned") {
    const PairsPlace place;
    spill(place / "named.tsv", "source\ttarget\n" + slurp(place / "p.tsv"));
    const Outcome guessed = place.train({"--text", "named.tsv"});
    check_done(guessed);
    CHECK(guessed.out.find("named.tsv has the columns source and target: --task translate") !=
          std::string::npos);
    check_done(place.train({"--resume"}));
    check_refused(place.train({"--pairs", "p.tsv", "--task", "text"}),
                  "--pairs is for --task translate, got text");
    const PairsPlace other;
    check_refused(other.train({"--pairs", "p.tsv", "--kind", "gpt"}),
                  "train: a GPT has no --max-length");
}

TEST_CASE("cli translate: bad input is one line that says where and what to do") {
    const PairsPlace place;
    const auto refused = [&](const std::string& file, const std::string& text, const char* words) {
        spill(place / file, text);
        check_refused(place.train({"--pairs", file}), words);
    };
    refused("a.tsv", "a\tb\nc d\n", "a.tsv:2: has no tab between source and target; a line is");
    refused("a.tsv", "a\tb\nc\t\n", "a.tsv:2: the target is empty");
    refused("a.tsv", "a\tb\nabcdefghijklm\tb\n",
            "a.tsv:2: the source has 13 characters; the model takes at most 12 (--max-length 12); "
            "shorten the source, or train with a larger --max-length");
    refused("a.jsonl", "{\"source\": \"a\"}\n", "a.jsonl:1: ");
    check_done(place.train({"--pairs", "p.tsv"}));
    spill(place / "b.txt", "123\n12x\n");
    check_refused(place.run({"translate", "--model", "m", "--text", "b.txt"}), "b.txt:2: ");
    check_refused(place.run({"translate", "--model", "m", "12x"}), "source");
    check_refused(place.run({"translate", "--model", "m", ""}), "the source is empty");
    check_refused(place.run({"translate", "--model", "m", "123", "--width", "60"}),
                  "--width requires --alignment");
    check_refused(place.run({"translate", "--model", "m"}, {.stdin_from = "."}),
                  "stdin: cannot be read");
    spill(place / "b.tsv", "123\t1 2 3\n12x\t1\n");
    check_refused(place.run({"eval", "--model", "m", "--pairs", "b.tsv"}), "b.tsv:2: ");
    check_refused(place.run({"eval", "--model", "m", "--pairs", "p.tsv", "--split", "test"}),
                  "eval: m is an encoder-decoder, measured on --pairs or --text; --split does not "
                  "apply");
    put_model(place / "gpt");
    check_refused(place.run({"translate", "--model", "gpt", "a"}),
                  "the model is a GPT, expected an encoder-decoder");
}
