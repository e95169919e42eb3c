// Model directories that train did not write: each file missing, damaged or from another model.
#include <tapestry/tests/cli/command.h>

#include <nlohmann/json.hpp>

#include <cstring>
#include <limits>

using namespace tapestry::test;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

/// A good model in m, to be damaged.
struct Spoilt {
    Place place;
    fs::path model = place / "m";
    fs::path weights = model / "model.safetensors";

    Spoilt() { put_model(model); }

    void refused(const std::string& words) const {
        const Outcome outcome = place.run({"sample", "--model", "m", "--tokens", "5"});
        check_refused(outcome, words);
        CHECK_EQ(outcome.out, "");
        put_model(model);  // restores the model
    }
    void config(const char* name, const Json& value, const std::string& words) const {
        Json json = Json::parse(slurp(model / "config.json"));
        json[name] = value;
        spill(model / "config.json", json.dump());
        refused(words);
    }
    /// Puts another header in front of the same tensors.
    void header(const std::function<void(Json&)>& change, const std::string& words) const {
        const std::string file = slurp(weights);
        std::uint64_t length = 0;
        std::memcpy(&length, file.data(), sizeof(length));
        Json json = Json::parse(file.substr(8, length));
        change(json);
        const std::string text = json.dump();
        const std::uint64_t size = text.size();
        std::string prefix(sizeof(size), '\0');
        std::memcpy(prefix.data(), &size, sizeof(size));
        spill(weights, prefix + text + file.substr(8 + length));
        refused(words);
    }
};

}  // namespace

TEST_CASE("cli: a model directory that is missing, or lacks a file") {
    const Spoilt spoilt;
    const Place& place = spoilt.place;
    spill(place / "t.txt", simple_text());
    check_refused(place.run({"sample", "--model", "none"}), "'none': no such directory");
    check_refused(place.run({"sample", "--model", "t.txt"}),
                  "'t.txt': not a model, but text, which `--text` reads");
    check_refused(place.run({"sample", "--model", ""}), "'': no such directory");
    check_refused(place.run({"eval", "--model", "none", "--text", "t.txt"}), "no such directory");
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
        fs::remove(spoilt.model / name);
        spoilt.refused(fmt::format("cannot read 'm/{}': No such file or directory", name));
        fs::remove(spoilt.model / name);
        fs::create_directory(spoilt.model / name);
        const Outcome outcome = place.run({"sample", "--model", "m"});
        check_refused(outcome, fmt::format("cannot read 'm/{}': it is a directory", name));
        fs::remove(spoilt.model / name);
        put_model(spoilt.model);
    }
}

TEST_CASE("cli: an invalid config.json") {
    const Spoilt spoilt;
    const auto file = spoilt.model / "config.json";
    for (const char* text : {"", "{", "hello", "{\"vocab\": }", "\xFF\xFE"}) {
        spill(file, text);
        spoilt.refused("m/config.json: not JSON");
    }
    for (const char* text : {"[]", "7", "null"}) {
        spill(file, text);
        spoilt.refused("m/config.json: not a JSON object");
    }
    spill(file, "{}");
    spoilt.refused("\"model\" is missing");
    // Deep enough to overflow the stack of a recursive parser.
    const std::string deep(200'000, '[');
    spill(file, "{\"model\":\"gpt\",\"vocab\":" + deep + std::string(deep.size(), ']') + "}");
    spoilt.refused("nested deeper than 100 levels");
}

TEST_CASE("cli: config.json with settings that no model has") {
    const Spoilt spoilt;
    spoilt.config("model", "bert", "\"model\" is \"bert\"");
    spoilt.config("dim", "wide", "\"dim\" has an invalid value: \"wide\"");
    spoilt.config("dim", 1.5, "\"dim\" has an invalid value: 1.5");
    spoilt.config("dim", nullptr, "\"dim\" has an invalid value: null");
    spoilt.config("dim", true, "\"dim\" has an invalid value: true");
    spoilt.config("dim", 0, "dim must be positive, got 0");
    spoilt.config("layers", -4, "layers must be positive, got -4");
    spoilt.config("heads", 3, "3 heads do not divide dim 16");
    spoilt.config("heads", 0, "heads must be positive, got 0");
    spoilt.config("dropout", "much", "\"dropout\" has an invalid value: \"much\"");
    spoilt.config("dropout", 1.5, "m/config.json: Dropout: p must be in [0, 1], got 1.5");
    spoilt.config("bias", 1, "\"bias\" has an invalid value: 1");
    spoilt.config("tied_head", "no", "\"tied_head\" has an invalid value: \"no\"");
    spoilt.config("vocab", 7, "the configuration 7");
    // Sizes in a file must not cause allocations.
    spoilt.config("layers", 1'000'000'000'000, "m/config.json: the configuration needs");
    spoilt.config("dim", 4'000'000'000'000'000'000, "the configuration needs");
    spoilt.config("context", 1'000'000'000'000, "the configuration needs");
    spoilt.config("layers", 18'000'000'000'000'000'000u,
                  "\"layers\" has an invalid value: 18000000000000000000");
    // Nearly right sizes: the weights have other shapes.
    spoilt.config("dim", 18, "the configuration needs f32 [");
    spoilt.config("context", 17, "position_embedding.weight");
    spoilt.config("layers", 2, "is missing");
    spoilt.config("tied_head", false, "\"head.weight\" is missing");
}

TEST_CASE("cli: a tokenizer.json that is invalid, or another model's") {
    const Spoilt spoilt;
    const auto file = spoilt.model / "tokenizer.json";
    spill(file, "");
    spoilt.refused("m/tokenizer.json: tokenizer: not JSON");
    spill(file, R"({"type":"bpe","vocab":["a"]})");
    spoilt.refused("only 'char' is supported");
    spill(file, R"({"type":"char","vocab":[]})");
    spoilt.refused("the vocabulary is empty");
    spill(file, R"({"type":"char","vocab":["a","b"]})");
    spoilt.refused("m: the tokenizer has 2 characters, the configuration ");
    spill(file, R"({"type":"char","vocab":["a","a"]})");
    spoilt.refused("appears twice");
    spill(file, R"({"type":"char","vocab":["ab"]})");
    spoilt.refused("2 characters instead of one");
}

TEST_CASE("cli: model.safetensors truncated, longer, damaged") {
    const Spoilt spoilt;
    const std::string good = slurp(spoilt.weights);
    for (const std::size_t size : {std::size_t{0}, std::size_t{7}}) {
        spill(spoilt.weights, good.substr(0, size));
        // A file this small contradicts config.json, before any of it is read.
        spoilt.refused("safetensors");
    }
    for (const std::size_t size : {std::size_t{100}, good.size() / 2, good.size() - 1}) {
        spill(spoilt.weights, good.substr(0, size));
        spoilt.refused("'m/model.safetensors': truncated");
    }
    spill(spoilt.weights, good + "x");
    spoilt.refused("'m/model.safetensors': 1 trailing bytes");
    std::string damaged = good;
    damaged[8] = '[';
    spill(spoilt.weights, damaged);
    spoilt.refused("'m/model.safetensors': the header is ");
    damaged = good;
    damaged[20] = '\xFF';
    spill(spoilt.weights, damaged);
    spoilt.refused("'m/model.safetensors': the header is not UTF-8");
    damaged = good;
    damaged[6] = '\x7F';  // the header's length: 2^54 times 127
    spill(spoilt.weights, damaged);
    spoilt.refused("'m/model.safetensors': a header of ");
    spill(spoilt.weights, std::string(good.size(), '\0'));
    spoilt.refused("'m/model.safetensors'");
}

TEST_CASE("cli: model.safetensors with tensors that cannot be, or are another model's") {
    const Spoilt spoilt;
    const std::string norm = "final_norm.weight";
    const std::string bias = "final_norm.bias";
    spoilt.header([&](Json& json) { json[bias]["data_offsets"] = json[norm]["data_offsets"]; },
                  "they overlap");
    spoilt.header([&](Json& json) { json[norm]["shape"] = {17}; }, "but shape [17] of F32 has 68");
    spoilt.header(
        [&](Json& json) {
            json[norm]["shape"] = {4294967296, 4294967296, 4294967296};
        },
        "more bits than can be counted");
    spoilt.header(
        [&](Json& json) {
            json[norm]["data_offsets"] = {0, 18446744073709551615u};
        },
        "bytes, but shape");
    spoilt.header([&](Json& json) { json[norm]["dtype"] = "F31"; }, "unknown dtype 'F31'");
    spoilt.header(
        [&](Json& json) {
            json[norm]["shape"] = {4, 4};
        },
        "tensor \"final_norm.weight\" is f32 [4, 4]; the configuration needs f32 [16]");
    spoilt.header([&](Json& json) { json[norm]["dtype"] = "F64", json[norm]["shape"] = {8}; },
                  "is f64 [8]; the configuration needs f32 [16]");
    spoilt.header(
        [&](Json& json) {
            json["stranger"] = json[norm];
            json.erase(norm);
        },
        "tensor \"final_norm.weight\" is missing");
    spoilt.header(
        [&](Json& json) {
            json["empty"] = {{"dtype", "F32"}, {"shape", {0}}, {"data_offsets", {0, 0}}};
        },
        "tensor \"empty\" does not belong to the model");
}

TEST_CASE("cli: prompts and texts with characters the model does not know") {
    const Spoilt spoilt;
    const Place& place = spoilt.place;
    const auto prompt = [&](const std::string& text) {
        const Outcome outcome = place.run({"sample", "--model", "m", "--prompt", text});
        CHECK_EQ(outcome.out, "");
        return outcome;
    };
    check_refused(prompt("The Ünd"),
                  "prompt: character 'Ü' (U+00DC) at position 4 is not in the model's vocabulary");
    check_refused(prompt("猫"), "character '猫' (U+732B) at position 0");
    check_refused(prompt("cat\tdog"), "(U+0009) at position 3");
    check_refused(prompt("cat\xFF"), "prompt: not UTF-8 at byte 3");
    spill(place / "t.txt", simple_text(100) + "%");
    check_refused(place.run({"eval", "--model", "m", "--text", "t.txt"}),
                  "t.txt: character '%' (U+0025) at position 100");
    spill(place / "t.txt", "The cat");
    check_done(place.run({"eval", "--model", "m", "--text", "t.txt"}));
    check_refused(place.run({"eval", "--model", "m", "--text", "t.txt", "--batches", "1"}),
                  "t.txt: too short");
    spill(place / "t.txt", "T");
    check_refused(place.run({"eval", "--model", "m", "--text", "t.txt"}),
                  "t.txt: too short: a loss needs 2 tokens, got 1");
    check_refused(place.run({"eval", "--model", "m", "--text", "none"}), "cannot read 'none'");
}

TEST_CASE("cli: weights that are not finite") {
    const Spoilt spoilt;
    std::string file = slurp(spoilt.weights);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(file.data() + file.size() - sizeof(nan), &nan, sizeof(nan));
    spill(spoilt.weights, file);
    spill(spoilt.place / "t.txt", simple_text());
    check_refused(spoilt.place.run({"eval", "--model", "m", "--text", "t.txt", "--batches", "1"}),
                  "the model has diverged", 1);
    const Outcome sampled = spoilt.place.run({"sample", "--model", "m"});
    check_refused(sampled, "it has diverged", 1);
    CHECK(sampled.out.ends_with("\n"));  // what is wrong has a line of its own
}
