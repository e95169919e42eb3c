// JSON nested 100,000 deep, in every place where JSON is read: an error, not a crash.
#include <tapestry/tests/hostile/attack.h>
#include <tapestry/tests/hostile/depth.h>
#include <tapestry/tests/hostile/states.h>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kManifest = "tapestry-manifest.json";

// Nests the whole file; `around` represents a member of an object.
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

// Sets a member of a JSON file to this value, given as JSON text.
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

Attack deep_text(const std::string& member, const std::string& value) {
    return {.name = "the state's " + member + " is " + value.substr(0, 12),
            .why = "a text of JSON in the checkpoint's metadata",
            .prepare = [=](const Target& target) {
                change_state(target.directory, [&](StateJson& json) { json[member] = value; });
            }};
}

// Adds a member after `place` inside the text of this name; everything else stays valid.
Attack deep_inside(const char* member, const std::string& place, const std::string& value) {
    return {.name = std::string(member) + " has, after " + place + ", " + value.substr(0, 12),
            .why = "JSON in JSON, of which only a part is asked for",
            .prepare = [=](const Target& target) {
                change_text(target.directory, member, [&](std::string& text) {
                    text.insert(text.find(place) + place.size(), "\"note\":" + value + ",");
                });
            }};
}

Attack deep_in_metadata(const std::string& place, const std::string& value) {
    return {.name = "the metadata has, after " + place + ", " + value.substr(0, 12),
            .why = "JSON in a JSON string, of which only a part is asked for",
            .prepare = [=](const Target& target) {
                std::string text = metadata_of(target.directory);
                text.insert(text.find(place) + place.size(), "\"note\":" + value + ",");
                set_metadata(target.directory, text);
            }};
}

Attack deep_segment(const std::string& value) {
    return {.name = "a segment's configuration is " + value.substr(0, 12),
            .why = "JSON in JSON in JSON",
            .prepare = [=](const Target& target) {
                change_history(target.directory, [&](StateJson& json) {
                    for (StateJson& segment : json.at("segments")) segment["config"] = value;
                });
            }};
}

Attack deep_metadata(const std::string& value) {
    return {.name = "the state's metadata is " + value.substr(0, 12),
            .why = "JSON in a JSON string",
            .prepare = [=](const Target& target) { set_metadata(target.directory, value); }};
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

// Every command that reads the file: none may crash.
void try_all(Kind kind, const std::vector<Attack>& attacks) {
    const AttackPlace place(kind);
    const std::vector<Command>& all = reading_commands(kind);
    for (std::size_t i = 0; i < attacks.size(); ++i) {
        try_readers(place, attacks[i], is_long() ? all : std::vector<Command>{all[i % all.size()]});
    }
}

// Only these commands, which must report it.
void try_refused(Kind kind, const std::vector<Attack>& attacks,
                 const std::vector<std::string>& names) {
    const AttackPlace place(kind);
    for (std::size_t i = 0; i < attacks.size(); ++i) {
        for (std::size_t j = 0; j < names.size(); ++j) {
            if (!is_long() && j != i % names.size()) continue;
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
    const std::string lists = nested_lists(), objects = nested_objects();
    const std::string segments = "{\"segments\":" + lists + "}";
    try_refused(Kind::run,
                {deep_metadata(lists), deep_text("config", objects), deep_text("run", lists),
                 deep_text("run", segments), deep_inside("config", "{", lists),
                 deep_inside("config", "\"model\": {", lists),
                 deep_inside("config", "\"model\": {", objects),
                 deep_inside("config", "\"model\": {", objects), deep_inside("run", "{", objects),
                 deep_inside("run", "\"segments\":[{", objects), deep_in_metadata("{", lists),
                 deep_in_metadata("\"optimizer\":{", objects)},
                {"rewind", "bisect", "fork from"});
    const std::vector<Attack> attacks{deep_inside("config", "\"model\": {", lists),
                                      deep_inside("run", "\"segments\":[{", objects),
                                      deep_text("config", lists), deep_segment(lists)};
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
        const Command tokenize{
            "tokenize", {"tokenize", "--text", "t.jsonl", "--field", "text", "--out", "out/d"}};
        const Outcome outcome = place.run(tokenize);
        check_ended(tokenize, outcome);
        CHECK_EQ(outcome.code, 2);
    }
}
