// JSON nested 100,000 deep, in each of the places where JSON is read: an error, and no crash.
#include <tapestry/tests/hostile/attack.h>
#include <tapestry/tests/hostile/depth.h>
#include <tapestry/tests/hostile/manifest_text.h>

#include <tapestry/nn/io/safetensors.h>

#include <nlohmann/json.hpp>

using namespace tapestry::test;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kManifest = "tapestry-manifest.json";
constexpr const char* kState = "checkpoints/step-00000060.safetensors";

// The manifest lists what is there now.
void list_again(const fs::path& directory, const std::string& name) {
    if (!fs::exists(directory / kManifest)) return;
    ManifestText manifest(directory);
    manifest.drop(name);
    manifest.list(name, slurp(directory / name));
    manifest.write(directory);
}

// The whole file, nested; `around` stands for a member of an object.
Attack deep_file(const std::string& name, const std::string& text) {
    return {.name = name + " begins " + text.substr(0, 20),
            .why = "a parser that calls itself runs out of stack",
            .prepare = [=](const Target& target) {
                spill(target.directory / name, text);
                list_again(target.directory, name);
            }};
}

std::vector<Attack> deep_files(const std::vector<std::string>& names) {
    std::vector<Attack> attacks;
    for (const std::string& name : names) {
        attacks.push_back(deep_file(name, nested_lists()));
        attacks.push_back(deep_file(name, nested_objects()));
    }
    return attacks;
}

// A member of a file that is a JSON object gets this value, as JSON text.
Attack deep_member(const std::string& name, const std::string& member, const std::string& value) {
    return {.name = name + ": " + member + " is " + value.substr(0, 12),
            .why = "what a reader skips is read all the same",
            .prepare = [=](const Target& target) {
                std::string text = slurp(target.directory / name);
                text.insert(text.find('{') + 1, "\"" + member + "\":" + value + ",");
                spill(target.directory / name, text);
                list_again(target.directory, name);
            }};
}

// The checkpoint's metadata: JSON in a JSON string, in which texts hold JSON once more.
void change_state(const fs::path& directory, const std::function<void(Json&)>& change) {
    tapestry::SafetensorsFile file = tapestry::read_safetensors(directory / kState);
    Json json = Json::parse(file.metadata.at("checkpoint"));
    change(json);
    file.metadata["checkpoint"] = json.dump();
    tapestry::write_safetensors(directory / kState, file.tensors, file.metadata);
    list_again(directory, kState);
}

Attack deep_text(const std::string& member, const std::string& value) {
    return {.name = std::string("the state's ") + member + " is " + value.substr(0, 12),
            .why = "a text of JSON in the checkpoint's metadata",
            .prepare = [=](const Target& target) {
                change_state(target.directory, [&](Json& json) { json[member] = value; });
            }};
}

Attack deep_segment(const std::string& value) {
    return {.name = "a segment's configuration is " + value.substr(0, 12),
            .why = "JSON in JSON in JSON",
            .prepare = [=](const Target& target) {
                change_state(target.directory, [&](Json& json) {
                    Json run = Json::parse(json.at("run").get<std::string>());
                    for (Json& segment : run.at("segments")) segment["config"] = value;
                    json["run"] = run.dump();
                });
            }};
}

Attack deep_metadata(const std::string& value) {
    return {.name = "the state's metadata is " + value.substr(0, 12),
            .why = "JSON in a JSON string",
            .prepare = [=](const Target& target) {
                tapestry::SafetensorsFile file =
                    tapestry::read_safetensors(target.directory / kState);
                file.metadata["checkpoint"] = value;
                tapestry::write_safetensors(target.directory / kState, file.tensors, file.metadata);
                list_again(target.directory, kState);
            }};
}

Attack deep_header(const std::string& name) {
    return {.name = "the header of " + name,
            .why = "safetensors begins with JSON",
            .prepare = [=](const Target& target) {
                const std::string header = "{\"a\":" + nested_lists() + "}";
                std::string text(8, '\0');
                for (int i = 0; i < 8; ++i) {
                    text[static_cast<std::size_t>(i)] =
                        static_cast<char>(header.size() >> (8 * i) & 0xFF);
                }
                spill(target.directory / name, text + header);
                list_again(target.directory, name);
            }};
}

// Every command that reads a file, whichever it is: none of them may crash.
void try_all(Kind kind, const std::vector<Attack>& attacks) {
    const AttackPlace place(kind);
    const std::vector<Command>& all = reading_commands(kind);
    for (std::size_t i = 0; i < attacks.size(); ++i) {
        try_readers(place, attacks[i], is_long() ? all : std::vector<Command>{all[i % all.size()]});
    }
}

// With these commands, which must see it.
void try_refused(Kind kind, const std::vector<Attack>& attacks,
                 const std::vector<std::string>& names) {
    const AttackPlace place(kind);
    for (std::size_t i = 0; i < attacks.size(); ++i) {
        for (std::size_t j = 0; j < names.size(); ++j) {
            if (!is_long() && (i + j) % 2 != 0) continue;
            const Command& command = find_command(reading_commands(kind), names[j]);
            INFO("attack: " << attacks[i].name);
            INFO("command: " << command.name);
            place.prepare(attacks[i]);
            const Outcome outcome = place.run(command);
            check_ended(command, outcome);
            CHECK_EQ(outcome.code, 2);
        }
    }
}

}  // namespace

TEST_CASE("depth: a configuration inside a checkpoint's metadata") {
    std::vector<Attack> attacks{deep_segment(nested_lists()), deep_segment(nested_objects()),
                                deep_metadata(nested_lists()), deep_metadata(nested_objects())};
    for (const char* member : {"config", "run"}) {
        attacks.push_back(deep_text(member, nested_lists()));
        attacks.push_back(deep_text(member, nested_objects()));
        attacks.push_back(deep_text(member, "{\"segments\":" + nested_lists() + "}"));
    }
    try_refused(Kind::run, attacks, {"rewind", "bisect", "fork from"});
    const AttackPlace place(Kind::run);
    for (const Attack& attack : attacks) {
        try_writers(place, attack, {find_command(writing_commands(Kind::run), "resume")});
        try_readers(place, attack, {find_command(reading_commands(Kind::run), "curves")});
    }
}

TEST_CASE("depth: the files of a run") {
    try_refused(Kind::run, deep_files({"config.json", "tokenizer.json"}), {"sample", "eval"});
    try_refused(Kind::run, deep_files({"metrics.jsonl"}), {"curve", "rewind"});
    try_refused(Kind::run, {deep_header("model.safetensors")}, {"sample", "export"});
    try_refused(Kind::run, {deep_header(kState)}, {"rewind", "fork from"});
    try_all(Kind::run, deep_files({"best/config.json", kManifest}));
    std::vector<Attack> attacks;
    for (const char* name : {"config.json", "tokenizer.json", "metrics.jsonl", kManifest,
                             "best/tapestry-manifest.json"}) {
        attacks.push_back(deep_member(name, "note", nested_lists()));
        attacks.push_back(deep_member(name, "note", nested_objects()));
    }
    try_all(Kind::run, attacks);
}

TEST_CASE("depth: the files of a trap") {
    try_refused(Kind::trap, deep_files({"trap/step.json"}), {"replay"});
    std::vector<Attack> attacks{deep_member("trap/step.json", "note", nested_objects())};
    for (const char* member : {"batches", "finding", "note"}) {
        attacks.push_back(deep_member("trap/step.json", member, nested_lists()));
    }
    for (const Attack& attack : attacks) {
        try_readers(AttackPlace(Kind::trap), attack,
                    {find_command(reading_commands(Kind::trap), "replay")});
    }
}

TEST_CASE("depth: the files of data, of Hugging Face's models, of an encoder-decoder") {
    try_refused(Kind::data, deep_files({"data.json", "vocab.json"}), {"train on", "tokenize by"});
    try_refused(Kind::hugging_face, deep_files({"config.json", "vocab.json"}),
                {"sample", "export"});
    try_refused(Kind::transformer, deep_files({"config.json", "tokenizer.json"}), {"inspect"});
    try_all(Kind::data, {deep_member("data.json", "sources", nested_lists()),
                         deep_member("data.json", "note", nested_objects())});
    try_all(Kind::hugging_face, {deep_member("config.json", "auto_map", nested_objects()),
                                 deep_member("config.json", "n_layer", nested_lists())});
}

TEST_CASE("depth: a line of a text in JSON") {
    const AttackPlace place(Kind::run);
    for (const std::string& line :
         {nested_lists(), nested_objects(), "{\"text\":" + nested_lists() + "}",
          "{\"text\":\"a\",\"note\":" + nested_objects() + "}"}) {
        CAPTURE(line.substr(0, 20));
        spill(place / "t.jsonl", line + "\n");
        const Command tokenize{"tokenize", {"tokenize", "--text", "t.jsonl", "--out", "out/d"}};
        const Outcome outcome = place.run(tokenize);
        check_ended(tokenize, outcome);
        CHECK_EQ(outcome.code, 2);
    }
}
