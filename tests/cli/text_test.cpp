// Unusable texts and impossible models: refused immediately, without changing anything.
#include <tapestry/tests/cli/command.h>

using namespace tapestry::test;

namespace {

// A directory with a model in m; checks that training on t.txt is refused and leaves it unchanged.
struct BadText {
    Place place;
    std::string before;

    BadText() {
        put_model(place / "m");
        before = slurp(place / "m" / "model.safetensors");
    }
    void refused(const std::string& words, const Arguments& more = {}) const {
        const Outcome outcome = place.run(tiny_training(Arguments{"--overwrite"} + more));
        check_refused(outcome, words);
        CHECK_EQ(outcome.out, "");
        CHECK_EQ(slurp(place / "m" / "model.safetensors"), before);
        CHECK_FALSE(std::filesystem::exists(place / "m" / "metrics.jsonl"));
    }
};

}  // namespace

TEST_CASE("cli: texts that cannot be learned from") {
    const BadText bad;
    const auto text = bad.place / "t.txt";
    bad.refused("cannot read 't.txt': No such file or directory");
    std::filesystem::create_directory(text);
    bad.refused("'t.txt': contains no files");
    std::filesystem::remove(text);
    spill(text, "");
    bad.refused("'t.txt': the file is empty");
    spill(text, "\xEF\xBB\xBF");
    bad.refused("'t.txt': the file is empty");
    spill(text, "Too short.");
    bad.refused("t.txt: too short: 9 tokens for training and 1 for validation; a context of 16");
    spill(text, simple_text(100) + "caf\xE9 " + simple_text(100));
    bad.refused("'t.txt': not UTF-8 at byte 103: ");
    spill(text, std::string("\xFF\xFEo\0n\0e\0", 8));
    bad.refused("the text is UTF-16, and must be UTF-8; iconv -f UTF-16 -t UTF-8 converts it");
    spill(text, std::string("T\xC0\x80", 3));
    bad.refused("not UTF-8 at byte 1");
}

TEST_CASE("cli: a byte order mark is not part of the text") {
    const Place place;
    spill(place / "t.txt", "\xEF\xBB\xBF" + simple_text());
    check_done(place.run(tiny_training({"--steps", "1"})));
    const std::string with = slurp(place / "m" / "tokenizer.json");
    spill(place / "t.txt", simple_text());
    check_done(place.run(tiny_training({"--steps", "1", "--overwrite"})));
    CHECK_EQ(slurp(place / "m" / "tokenizer.json"), with);
}

TEST_CASE("cli: models that cannot be") {
    const BadText bad;
    spill(bad.place / "t.txt", simple_text());
    bad.refused("3 heads do not divide dim 16 (remainder 1)", {"--heads", "3"});
    bad.refused("32 heads do not divide dim 16", {"--heads", "32"});
    bad.refused("a context of 200 needs more than 200 in each", {"--context", "200"});
    bad.refused("too short", {"--context", "1000000000"});
}

TEST_CASE("cli: a model larger than memory is refused with its size, at once") {
    const Place place;
    spill(place / "t.txt", simple_text());
    const auto refused = [&](const Arguments& arguments, double gigabytes) {
        const Outcome outcome = place.run(arguments);
        check_refused(outcome, " GB of memory, but only ");
        const std::string words = "would need about ";
        const auto at = outcome.err.find(words);
        REQUIRE(at != std::string::npos);
        const double needed = std::stod(outcome.err.substr(at + words.size()));
        CHECK_EQ(needed, doctest::Approx(gigabytes).epsilon(0.2));
        CHECK_LT(outcome.processor_seconds, 5);
        CHECK_LT(outcome.peak_kilobytes, 500'000);  // the sanitizers use some of it
        CHECK_EQ(outcome.out, "");
    };
    // 12 dim^2 parameters per layer; each has a gradient and two moments, of 4 bytes.
    refused(tiny_training({"--out", "big", "--layers", "1000000", "--dim", "65536"}),
            1e6 * 12 * 65536.0 * 65536 * 16 / 1e9);
    // One layer of dim 16 keeps 16 * 16 numbers per token, plus three times the 23 logits.
    refused(tiny_training({"--out", "big", "--batch", "1000000000"}),
            16e9 * (16 * 16 + 3 * 23) * 4 / 1e9);
    const std::string most = "1000000000";
    const double n = 1e9;
    refused({"bench", "step", "--layers", most, "--dim", most, "--heads", most, "--vocab", most,
             "--context", most, "--batch", most},
            n * n * n * n * 16 * 4 / 1e9);
    CHECK_FALSE(std::filesystem::exists(place / "big"));
}
