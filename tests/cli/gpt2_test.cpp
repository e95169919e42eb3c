// GPT-2's format at the command line: evaluated, trained further, exported; and errors.
#include <tapestry/core/text/utf8.h>
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

using namespace tapestry::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path kFixture = source_dir() / "tests/fixtures/gpt2";

/// A copy of the fixture in g, and a training text.
struct Gpt2Place : Place {
    Gpt2Place() {
        fs::copy(kFixture, *this / "g");
        spill(*this / "t.txt", simple_text());
    }
    Json eval(const Arguments& more) const {
        const Outcome outcome = run(Arguments{"eval", "--json"} + more);
        check_done(outcome);
        return Json::parse(outcome.out);
    }
    Outcome tokens(const std::string& text, const std::string& model = "g") const {
        spill(*this / "ids", text);
        return run({"eval", "--model", model, "--tokens", "ids", "--json"});
    }
};

}  // namespace

TEST_CASE("cli gpt2: PyTorch's loss of a file of tokens, with no tokenizer at hand") {
    const Gpt2Place place;
    const Json expected = Json::parse(slurp(kFixture / "expected.json"));
    for (const bool tokenizer : {true, false}) {
        if (!tokenizer) {
            fs::remove(place / "g/vocab.json");
            fs::remove(place / "g/merges.txt");
        }
        const Json result = place.eval({"--model", "g", "--tokens", "g/tokens.txt"});
        CHECK_EQ(result.size(), 3);  // and the perplexity
        CHECK_EQ(result.at("tokens"), expected.at("tokens"));
        CHECK(std::abs(result.at("loss").get<double>() - expected.at("loss").get<double>()) < 1e-5);
    }
    const Outcome plain = place.run({"eval", "--model", "g", "--tokens", "g/tokens.txt"});
    check_done(plain);
    CHECK(plain.out.find(" nats per token (perplexity ") != std::string::npos);
    CHECK(plain.out.ends_with(") over 55 tokens of g/tokens.txt\n"));
    // The same file for a Tapestry model.
    put_model(place / "m");
    check_done(place.tokens("1 2 3\n4\t5\r\n6 ", "m"));
    // No text without a tokenizer.
    check_refused(place.run({"sample", "--model", "g"}), "g: the model has no tokenizer");
    check_refused(place.run({"eval", "--model", "g", "--text", "t.txt"}),
                  "eval --tokens needs none");
    check_refused(place.run({"train", "--model", "g", "--text", "t.txt", "--out", "o"}),
                  "the model has no tokenizer");
    CHECK_FALSE(fs::exists(place / "o"));
}

TEST_CASE("cli gpt2: invalid files of tokens") {
    const Gpt2Place place;
    check_refused(place.tokens("1 2 377 4"),
                  "'ids': token 377 at position 2 is outside the "
                  "vocabulary of 377");
    check_refused(place.tokens("-1 2"), "token -1 at position 0 is outside the vocabulary of 377");
    check_refused(place.tokens("1 99999999999999999999999"), "at position 1 is outside the voc");
    check_refused(place.tokens("1 2 three"), "'ids': 'three' at position 2 is not a token id");
    check_refused(place.tokens("1 2.5"), "'2.5' at position 1 is not a token id");
    check_refused(place.tokens("1,2,3"), "'1,2,3' at position 0 is not a token id");
    check_refused(place.tokens(std::string("1 \0 2", 5)),
                  "'\\u{0}' at position 1 is not a token id");
    check_refused(place.tokens(""), "'ids': needs at least 2 tokens, got 0");
    check_refused(place.tokens(" 5\n"), "'ids': needs at least 2 tokens, got 1");
    check_refused(place.run({"eval", "--model", "g", "--tokens", "none"}), "cannot read 'none'");
    check_refused(place.run({"eval", "--model", "g", "--tokens", "g"}), "it is a directory");
    check_refused(place.run({"eval", "--model", "g", "--tokens", "ids", "--text", "t.txt"}),
                  "excludes");
    check_refused(place.run({"eval", "--model", "g", "--tokens", "ids", "--batches", "3"}),
                  "excludes");
}

TEST_CASE("cli gpt2: what it writes is UTF-8 for any bytes sampled") {
    const Gpt2Place place;
    for (const char* seed : {"1", "2", "3"}) {
        const Outcome outcome =
            place.run({"sample", "--model", "g", "--prompt", "Caf\u00E9 \U0001F600", "--tokens",
                       "100", "--temperature", "2", "--seed", seed});
        check_done(outcome);
        CHECK(outcome.out.starts_with("Caf\u00E9 \U0001F600"));
        CHECK_FALSE(tapestry::utf8::find_flaw(outcome.out).has_value());
    }
    check_refused(place.run({"sample", "--model", "g", "--prompt", "caf\xE9"}),
                  "prompt: not UTF-8 at byte 3");
    check_done(place.run({"sample", "--model", "g", "--tokens", "3"}));
}

TEST_CASE("cli gpt2: training continues from its weights, in our format, and exports again") {
    const Gpt2Place place;
    const auto train = [&](const std::string& from, const Arguments& more) {
        return place.run(Arguments{"train", "--model", from, "--text", "t.txt", "--steps", "40",
                                   "--lr", "1e-2", "--warmup", "0", "--eval-batches", "4",
                                   "--batch", "4"} +
                         more);
    };
    const Outcome trained = train("g", {"--out", "m"});
    check_done(trained);
    CHECK(trained.out.find("GPT: 2 layers, 3 heads, dim 24, context 12: 22264 parameters") !=
          std::string::npos);
    CHECK(trained.out.find(" tokens, 377 in the vocabulary; ") != std::string::npos);
    const Arguments on_text{"--text", "t.txt", "--batches", "5"};
    const Json before = place.eval(Arguments{"--model", "g"} + on_text);
    const Json after = place.eval(Arguments{"--model", "m"} + on_text);
    CHECK_LT(after.at("loss").get<double>(), before.at("loss").get<double>() - 1);

    check_done(place.run({"export", "--model", "m", "--out", "e"}));
    CHECK_EQ(place.eval(Arguments{"--model", "e"} + on_text), after);
    check_done(train("e", {"--out", "n", "--dropout", "0"}));
    CHECK_EQ(Json::parse(slurp(place / "n/config.json")).at("dropout"), 0);
    CHECK_EQ(Json::parse(slurp(place / "m/config.json")).at("dropout"), 0.1);
    // The same seed gives the same bits.
    check_done(train("g", {"--out", "again", "--threads", "2"}));
    CHECK(slurp(place / "m/model.safetensors") == slurp(place / "again/model.safetensors"));
    for (const char* shape : {"--layers", "--heads", "--dim"}) {
        check_refused(train("g", {"--out", "x", shape, "2"}), shape);
    }
    check_refused(place.run({"train", "--model", "none", "--text", "t.txt", "--out", "x"}),
                  "'none': no such directory");
    CHECK_FALSE(fs::exists(place / "x"));
}

TEST_CASE("cli gpt2: a character model continues, is exported, and writes the same") {
    const Gpt2Place place;
    put_model(place / "m");
    const Outcome exported = place.run({"export", "--model", "m", "--out", "e"});
    check_done(exported);
    CHECK(exported.out.starts_with("saved in e: Hugging Face's format, "));
    const Arguments sample{"sample", "--prompt", "The", "--tokens", "30"};
    CHECK_EQ(place.run(sample + Arguments{"--model", "e"}).out,
             place.run(sample + Arguments{"--model", "m"}).out);
    const Json before = place.eval({"--model", "m", "--text", "t.txt", "--batches", "3"});
    CHECK_EQ(place.eval({"--model", "e", "--text", "t.txt", "--batches", "3"}), before);
    check_done(place.run({"export", "--model", "m", "--out", "half", "--bf16"}));
    CHECK_LT(2.0 * static_cast<double>(fs::file_size(place / "half/model.safetensors")),
             1.1 * static_cast<double>(fs::file_size(place / "e/model.safetensors")));
    const Json half = place.eval({"--model", "half", "--text", "t.txt", "--batches", "3"});
    CHECK_LT(std::abs(half.at("loss").get<double>() - before.at("loss").get<double>()), 0.01);
    check_done(place.run({"train", "--model", "e", "--text", "t.txt", "--out", "n", "--steps", "60",
                          "--lr", "1e-2", "--warmup", "0", "--batch", "4", "--eval-batches", "2"}));
    CHECK_LT(place.eval({"--model", "n", "--text", "t.txt", "--batches", "3"}).at("loss"),
             before.at("loss").get<double>() - 0.1);
    spill(place / "u.txt", simple_text() + "%");
    check_refused(
        place.run({"train", "--model", "e", "--text", "u.txt", "--out", "x"}),
        "u.txt: character '%' (U+0025) at position 2000 is not in the model's vocabulary");
}

TEST_CASE("cli gpt2: directories that do not fit together") {
    const Gpt2Place place;
    const auto refused = [&](const std::string& words) {
        const Outcome outcome = place.run({"eval", "--model", "g", "--tokens", "g/tokens.txt"});
        check_refused(outcome, words);
        CHECK_EQ(outcome.out, "");
        check_refused(place.run({"export", "--model", "g", "--out", "x"}), words);
        CHECK_FALSE(fs::exists(place / "x"));
        fs::copy(kFixture, place / "g",
                 fs::copy_options::overwrite_existing | fs::copy_options::recursive);
    };
    fs::remove(place / "g/merges.txt");
    refused("g: incomplete vocabulary: found vocab.json but not merges.txt");
    fs::remove(place / "g/vocab.json");
    refused("g: incomplete vocabulary: found merges.txt but not vocab.json");
    spill(place / "g/vocab.json", "rubbish");
    refused("g/vocab.json: not JSON: error at byte 1");
    spill(place / "g/merges.txt", "#version: 0.2\nq q\n");
    refused("g/merges.txt: line 2: 'qq' is not in g/vocab.json");
    Json config = Json::parse(slurp(kFixture / "config.json"));
    config["n_layer"] = 3;
    spill(place / "g/config.json", config.dump());
    refused("g/model.safetensors: tensor \"h.2.ln_1.weight\" is missing");
    config["n_layer"] = 2;
    config["n_embd"] = 27;
    spill(place / "g/config.json", config.dump());
    refused("tensor \"wte.weight\" is f32 [377, 24]; the configuration needs f32 [377, 27]");
    spill(place / "g/config.json", "{\"model_type\": \"bert\"}");
    refused("g/config.json: \"model_type\" is \"bert\"; must be one of \"gpt2\", \"llama\"");
    const std::string weights = slurp(kFixture / "model.safetensors");
    spill(place / "g/model.safetensors", weights.substr(0, weights.size() - 4));
    refused("'g/model.safetensors': truncated");
}

TEST_CASE("cli export: where it cannot go") {
    const Gpt2Place place;
    spill(place / "file", "mine");
    check_refused(place.run({"export", "--model", "g", "--out", "file"}),
                  "cannot create directory 'file'");
    check_refused(place.run({"export", "--model", "g", "--out", "e"}, {.file_size_limit = 8192}),
                  "File too large");
    CHECK_EQ(slurp(place / "file"), "mine");
    CHECK(fs::is_empty(place / "e"));
    check_refused(place.run({"export", "--model", "g"}), "--out is required");
    check_refused(place.run({"export", "--out", "e"}), "--model is required");
    // Exporting onto itself.
    const std::string before = slurp(place / "g/model.safetensors");
    for (const Arguments& more : {Arguments{}, Arguments{"--overwrite"}}) {  // another program's
        check_refused(place.run(Arguments{"export", "--model", "g", "--out", "g"} + more),
                      "'g': already contains a model; choose another directory");
        CHECK(slurp(place / "g/model.safetensors") == before);
    }
    check_done(place.run({"export", "--model", "g", "--out", "e"}));
    CHECK(slurp(place / "e/model.safetensors") != before);  // without masks, with a prefix
    check_refused(place.run({"export", "--model", "e", "--out", "e"}),
                  "'e': already contains an export; --overwrite replaces it");
    check_done(place.run({"export", "--model", "e", "--out", "e", "--overwrite"}));
    check_done(place.run({"eval", "--model", "e", "--tokens", "g/tokens.txt"}));
    fs::create_directory(place / "t");
    spill(place / "t/tokenizer.json", "{}");
    check_refused(place.run({"export", "--model", "g", "--out", "t", "--overwrite"}),
                  "'t': already contains tokenizer.json; choose another directory");
}

TEST_CASE("cli gpt2: trained with a shorter context than its own, which it keeps") {
    const Gpt2Place place;
    const auto context_of = [&](const char* model) {
        const Json config = Json::parse(slurp(place / model / "config.json"));
        return config.contains("n_ctx") ? config.at("n_ctx") : config.at("context");
    };
    const Arguments train{"train",   "--model", "g",       "--text", "t.txt",          "--out", "m",
                          "--batch", "2",       "--steps", "2",      "--eval-batches", "1"};
    const Outcome outcome = place.run(train + Arguments{"--context", "5", "--train-only", "h.0"});
    check_done(outcome);
    CHECK_EQ(context_of("m"), context_of("g"));
    const Json first = Json::parse(lines_of(slurp(place / "m/metrics.jsonl")).at(0)).at("config");
    CHECK_EQ(first.at("sequence"), 5);
    CHECK_EQ(first.at("model").at("context"), context_of("g"));
    check_refused(place.run(train + Arguments{"--overwrite", "--context", "5", "--sequence", "4"}),
                  "--context 5 means --sequence 5, and --sequence is 4");
    check_refused(place.run(train + Arguments{"--overwrite", "--context", "100000"}),
                  "--sequence 100000 is more than the model's context of ");
    check_refused(place.run(train + Arguments{"--overwrite", "--layers", "2"}),
                  "--model excludes --layers");
}
