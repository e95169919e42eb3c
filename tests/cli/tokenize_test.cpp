// tokenize, and the use of its data: training, evaluation, errors.
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/skip.h>

#include <nlohmann/json.hpp>

#include <csignal>
#include <fstream>

using namespace tapestry::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A directory with a text, its data in d, and in m a model trained on the text directly.
struct Tokenized {
    Place place;

    Tokenized() {
        spill(place / "t.txt", simple_text());
        check_done(place.run({"tokenize", "--text", "t.txt", "--out", "d"}));
    }
    Outcome train(const Arguments& more) const { return place.run(training_on("d", more)); }
    std::string weights(const std::string& model) const {
        return slurp(place / model / "model.safetensors");
    }

    // Without --text, which tiny_training() includes.
    static Arguments training_on(const std::string& data, const Arguments& more = {}) {
        Arguments arguments = tiny_training(more);
        const auto text = std::find(arguments.begin(), arguments.end(), "--text");
        *text = "--data";
        *(text + 1) = data;
        return arguments;
    }
};

}  // namespace

TEST_CASE("cli tokenize: training on the data is training on the text") {
    const Tokenized t;
    check_done(t.place.run(tiny_training({"--out", "a"})));
    const Outcome on_data = t.train({"--out", "b"});
    check_done(on_data);
    CHECK(on_data.out.find("d: 2000 characters, 23 in the vocabulary; training on 1800, validating "
                           "on 200\n") == 0);
    CHECK_EQ(t.weights("a"), t.weights("b"));
    const Arguments eval{"eval", "--model", "a", "--batches", "3", "--json"};
    const Outcome text = t.place.run(eval + Arguments{"--text", "t.txt"});
    check_done(text);
    CHECK_EQ(t.place.run(eval + Arguments{"--data", "d"}).out, text.out);
}

TEST_CASE("cli tokenize: what it says, and what is there") {
    const Tokenized t;
    fs::create_directories(t.place / "more");
    spill(t.place / "more/a.txt", "The cat sat.");
    spill(t.place / "more/b.jsonl", "{\"story\": \"The dog ran.\"}\n{\"story\": \"The end.\"}\n");
    const Outcome outcome =
        t.place.run({"tokenize", "--text", "t.txt", "more", "--out", "e", "--tokenizer", "bpe",
                     "--vocab", "280", "--field", "story", "--bpe-sample", "1MB"});
    check_done(outcome);
    CHECK(outcome.out.starts_with("4 documents, 0.0 MB: "));
    CHECK(outcome.out.find(" tokens, 280 in the vocabulary\n") != std::string::npos);
    CHECK(outcome.out.find("saved in e\n") != std::string::npos);
    const Json json = Json::parse(slurp(t.place / "e/data.json"));
    CHECK_EQ(json.at("documents"), 4);
    CHECK_EQ(json.at("dtype"), "u16");
    CHECK_EQ(json.at("sources").size(), 3);
    CHECK_EQ(fs::file_size(t.place / "e/ids.bin"), 2 * json.at("ids").get<std::uintmax_t>());
    check_done(t.place.run(Tokenized::training_on("e", {"--out", "m", "--context", "8"})));
    check_done(t.place.run({"sample", "--model", "m", "--tokens", "5"}));
    // That model's vocabulary for another text.
    spill(t.place / "other.txt", simple_text(500));
    check_done(t.place.run({"tokenize", "--text", "other.txt", "--out", "f", "--tokenizer", "m"}));
    check_done(t.place.run({"tokenize", "--text", "other.txt", "--out", "g", "--tokenizer", "e"}));
    for (const char* data : {"f", "g"}) {  // a model's vocabulary, and that of data
        CHECK_EQ(slurp(t.place / data / "merges.txt"), slurp(t.place / "e/merges.txt"));
    }
    CHECK_EQ(slurp(t.place / "f/ids.bin"), slurp(t.place / "g/ids.bin"));
    check_done(t.place.run(
        {"train", "--data", "f", "--model", "m", "--out", "n", "--steps", "2", "--batch", "2"}));
}

TEST_CASE("cli tokenize: a bar on a terminal") {
    if (!has_terminals()) return skip("no pseudo-terminals here");
    const Tokenized t;
    const Outcome outcome =
        t.place.run({"tokenize", "--text", "t.txt", "--out", "e"}, {.terminal = true});
    CHECK_EQ(outcome.code, 0);
    CHECK(outcome.out.find("MB/s") != std::string::npos);
    CHECK(outcome.out.find("encoding [") != std::string::npos);
}

TEST_CASE("cli tokenize: inputs that are refused") {
    const Tokenized t;
    const auto refused = [&](const Arguments& more, const std::string& words) {
        const Outcome outcome = t.place.run(Arguments{"tokenize"} + more);
        check_refused(outcome, words);
        CHECK_FALSE(fs::exists(t.place / "x/data.json"));
    };
    refused({"--text", "t.txt", "--out", "d"}, "d: already contains data; remove it or");
    refused({"--text", "none.txt", "--out", "x"}, "'none.txt': No such file or directory");
    spill(t.place / "bad.jsonl", "{\"text\": \"a\"}\n{\"txt\": \"b\"}\n");
    refused({"--text", "bad.jsonl", "--out", "x"}, "bad.jsonl:2: no field 'text'");
    spill(t.place / "latin1.txt", "caf\xE9 au lait");
    refused({"--text", "t.txt", "latin1.txt", "--out", "x"}, "'latin1.txt': not UTF-8 at byte 3");
    spill(t.place / "empty", "");
    refused({"--text", "empty", "--out", "x"}, "'empty': the file is empty");
    refused({"--text", "t.txt", "--out", "x", "--tokenizer", "nowhere"}, "nowhere': no such dir");
    refused({"--text", "t.txt", "--out", "x", "--tokenizer", "bpe", "--vocab", "256"}, "--vocab");
    refused({"--text", "t.txt", "--out", "x", "--bpe-sample", "much"}, "--bpe-sample");
    refused({"--text", "t.txt", "--out", "x", "--vocab", "300"},
            "--vocab is for --tokenizer bpe, got --tokenizer chars");
    refused({"--text", "t.txt", "--out", "x", "--tokenizer", "m", "--bpe-sample", "1MB"},
            "--bpe-sample is for --tokenizer bpe, got --tokenizer m");
    put_model(t.place / "m");
    spill(t.place / "o.txt", "Ω");
    refused({"--text", "o.txt", "--out", "x", "--tokenizer", "m"},
            "o.txt: character 'Ω' (U+03A9) at position 0 is not in the model's vocabulary");
    refused({"--text", "t.txt", "t.txt", "--out", "x", "--tokenizer", "m"},
            "t.txt: a second document, but the tokenizer has no end-of-text character");
    refused({"--text", "t.txt", "--out", "t.txt"}, "cannot create directory 't.txt'");
}

TEST_CASE("cli tokenize: data that cannot be trained on") {
    const Tokenized t;
    const auto refused = [&](const Arguments& arguments, const std::string& words) {
        check_refused(t.place.run(arguments), words);
    };
    refused({"train", "--out", "m"}, "--text is required");
    refused({"train", "--data", "d", "--text", "t.txt", "--out", "m"}, "excludes");
    refused({"train", "--data", "x", "--out", "m"}, "'x': no such directory");
    fs::create_directories(t.place / "half");
    fs::copy(t.place / "d/ids.bin", t.place / "half/ids.bin");  // tokenize was killed
    refused({"train", "--data", "half", "--out", "m"},
            "cannot read 'half/data.json': No such file or directory");
    spill(t.place / "o.txt", simple_text() + "Ω");
    check_done(t.place.run({"tokenize", "--text", "o.txt", "--out", "o"}));
    put_model(t.place / "model");
    refused({"train", "--data", "o", "--model", "model", "--out", "m"},
            "o: made with a tokenizer that differs from that of model (24 characters, hash ");
    refused({"eval", "--data", "o", "--model", "model"},
            "o: made with a tokenizer that differs from that of model");
    Json json = Json::parse(slurp(t.place / "d/data.json"));
    std::string ids = slurp(t.place / "d/ids.bin");
    ids[100] = 'x';  // id 120
    spill(t.place / "d/ids.bin", ids);
    refused({"train", "--data", "d", "--out", "m"}, "'d/ids.bin': its hash is ");
    refused({"train", "--data", "d", "--out", "m"},
            "d/data.json lists " + json.at("ids_xxh3").get<std::string>());
    CHECK_FALSE(fs::exists(t.place / "m/model.safetensors"));
}

TEST_CASE("cli tokenize: killed half way, there is no data; and the next one makes it") {
    const Place place;
    std::string text;
    while (text.size() < 50'000'000) text += simple_text(100'000);
    spill(place / "t.txt", text);
    const auto files_in = [&](const std::string& directory) {
        std::error_code none_yet;
        const auto files = fs::directory_iterator(place / directory, none_yet);
        return none_yet ? 0 : std::distance(fs::begin(files), fs::end(files));
    };
    for (const int signal : {SIGKILL, SIGINT}) {
        const std::string out = signal == SIGKILL ? "killed" : "interrupted";
        const Arguments command{"tokenize", "--text", "t.txt", "--out", out};
        Outcome outcome;
        for (int tries = 0; tries < 20 && (tries == 0 || outcome.code == 0); ++tries) {
            fs::remove_all(place / out);  // it had ended before this test got a processor
            Process process(command, place.path());
            CHECK(wait_until([&] { return files_in(out) > 1; }));  // the lock, an unfinished file
            process.send(signal);
            outcome = process.wait();
        }
        CHECK_EQ(outcome.code, signal == SIGKILL ? -SIGKILL : 130);
        CHECK_EQ(outcome.err, signal == SIGKILL
                                  ? ""
                                  : "tapestry: interrupted; no data was written to interrupted\n");
        CHECK_EQ(files_in(out), signal == SIGKILL ? 2 : 0);
        check_refused(place.run(Tokenized::training_on(out)),
                      signal == SIGKILL ? "/data.json': No such file" : "no such directory");
        check_done(place.run(command));
        CHECK_EQ(files_in(out), 3);  // the killed one left nothing
        check_done(place.run(Tokenized::training_on(out, {"--out", "m"})));
    }
}

namespace {

// Peak memory of each command for a text of `megabytes`.
std::vector<long> peaks_for(int megabytes, const std::vector<Arguments>& commands) {
    const Place place;
    const std::string megabyte = simple_text(1'000'000);
    {
        std::ofstream file(place / "t.txt", std::ios::binary);
        for (int i = 0; i < megabytes; ++i) file << megabyte;
    }
    const Surroundings cached{.environment = {{"XDG_CACHE_HOME", (place / "cache").string()},
                                              {"TMPDIR", place.path().string()}},
                              .seconds = 1200};
    std::vector<long> kilobytes;
    for (const Arguments& command : commands) {
        const Outcome outcome = place.run(command, cached);
        check_done(outcome);
        kilobytes.push_back(outcome.peak_kilobytes);
    }
    return kilobytes;
}

const Arguments kTokenize{"tokenize", "--text", "t.txt", "--out", "d"};

}  // namespace

TEST_CASE("cli: a text of any size takes the same memory") {
    const std::vector<Arguments> commands{
        kTokenize,
        {"tokenize", "--text", "t.txt", "--out", "b", "--tokenizer", "bpe"},
        Tokenized::training_on("d"),
        tiny_training(),
        tiny_training({"--no-cache"}),
        {"eval", "--model", "m", "--text", "t.txt", "--batches", "5"}};
    const std::vector<long> little = peaks_for(2, commands), much = peaks_for(32, commands);
    for (std::size_t i = 0; i < commands.size(); ++i) {
        INFO("command " << i);
        CHECK_LT(much[i], little[i] + 20'000);  // a text of 100 MB once took 900 more
    }
}

// Run by `.ci/long data`: takes 20 GB of disk and some minutes.
TEST_CASE("cli: a text of 10 GB takes the memory that one of 10 MB does" * doctest::skip()) {
    const std::vector<Arguments> commands{kTokenize, Tokenized::training_on("d")};
    const std::vector<long> little = peaks_for(10, commands), much = peaks_for(10'000, commands);
    for (std::size_t i = 0; i < commands.size(); ++i) {
        MESSAGE(commands[i][0] << ": " << little[i] << " kB for 10 MB, " << much[i]
                               << " kB for 10 GB");
        CHECK_LT(much[i], little[i] + 200'000);
    }
}

TEST_CASE("cli: a part for testing, and the order of an epoch") {
    const Tokenized t;
    const Outcome outcome = t.train({"--out", "m", "--test-fraction", "0.05", "--order", "epoch"});
    check_done(outcome);
    CHECK(outcome.out.find("training on 1800, validating on 100, 100 for testing\n") !=
          std::string::npos);
    check_done(t.train({"--out", "n"}));
    CHECK(t.weights("m") != t.weights("n"));
    const Arguments eval{"eval", "--model", "m", "--data", "d", "--batches", "2"};
    const Outcome test =
        t.place.run(eval + Arguments{"--split", "test", "--test-fraction", "0.05"});
    check_done(test);
    CHECK(test.out.find(" over 384 characters drawn from the test part of d\n") !=
          std::string::npos);
    check_done(t.place.run(eval + Arguments{"--split", "validation"}));
    check_refused(t.place.run(eval + Arguments{"--split", "test"}),
                  "eval: --split test needs --test-fraction, as given in training");
    check_refused(t.place.run(eval + Arguments{"--test-fraction", "0.05"}),
                  "eval: --test-fraction 0.05 is for the other parts of --split, got --split all");
    check_refused(t.place.run({"eval", "--model", "m", "--tokens", "d", "--seed", "2"}),
                  "excludes");
    check_refused(t.train({"--out", "x", "--test-fraction", "0.1"}), "leave something for");
    check_refused(t.train({"--out", "x", "--test-fraction", "0.005"}), "10 for testing");
    check_refused(t.train({"--out", "x", "--order", "sorted"}), "--order");
}

TEST_CASE("cli: the test part is looked at by no step, no evaluation and no report") {
    const Tokenized t;
    std::string other = simple_text();
    for (std::size_t i = other.size() - 100; i < other.size(); ++i) other[i] = 'e';
    spill(t.place / "o.txt", other);
    const Arguments more{"--test-fraction", "0.05", "--eval-every", "5"};
    check_done(t.place.run(tiny_training(more + Arguments{"--out", "a"})));
    check_done(t.place.run(tiny_training(more + Arguments{"--out", "b", "--text", "o.txt"})));
    CHECK_EQ(t.weights("a"), t.weights("b"));
    const auto losses = [&](const std::string& model) {
        Json all = Json::array();
        for (const std::string& line : lines_of(slurp(t.place / model / "metrics.jsonl"))) {
            const Json json = Json::parse(line);
            all.push_back({json.value("loss", 0.0), json.value("val_loss", 0.0)});
        }
        return all;
    };
    CHECK(losses("a") == losses("b"));
}

TEST_CASE("cli: the tokens of a long text are kept in the cache, unless that cannot be") {
    const Place place;
    spill(place / "t.txt", simple_text(1 << 20));
    const std::string home = (place / "cache").string();
    const Surroundings cached{.environment = {{"XDG_CACHE_HOME", home}}};
    const auto weights = [&](const std::string& out) {
        return slurp(place / out / "model.safetensors");
    };
    const Arguments quick{"--steps", "2"};
    check_done(place.run(tiny_training(quick + Arguments{"--out", "a", "--no-cache"}), cached));
    CHECK_FALSE(fs::exists(home));
    for (const char* out : {"b", "c"}) {
        check_done(place.run(tiny_training(quick + Arguments{"--out", out}), cached));
        CHECK_EQ(weights(out), weights("a"));
        const auto entries = fs::directory_iterator(home + "/tapestry");
        CHECK_EQ(std::distance(fs::begin(entries), fs::end(entries)), 1);
    }
    fs::remove_all(home);
    spill(home, "no directory");
    const Outcome without = place.run(tiny_training(quick + Arguments{"--out", "d"}), cached);
    CHECK_EQ(without.code, 0);
    CHECK(without.err.starts_with("tapestry: the text's tokens are not cached: "));
    CHECK_EQ(weights("d"), weights("a"));
    // Neither variable gives a location: nothing is cached, without a warning.
    check_done(place.run(tiny_training(quick + Arguments{"--out", "e"}),
                         {.environment = {{"XDG_CACHE_HOME", "relative"}, {"HOME", ""}}}));
}
