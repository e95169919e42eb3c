// The configuration and history in a run's checkpoint: paths of texts and models, printed names,
// impossible numbers.
#include <tapestry/tests/hostile/attack.h>
#include <tapestry/tests/hostile/manifest_text.h>
#include <tapestry/tests/hostile/odd_files.h>
#include <tapestry/tests/hostile/states.h>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

using Json = StateJson;
using Change = void (*)(const fs::path&, const std::function<void(Json&)>&);

Attack value(Change change, const std::string& pointer, const Json& value, const char* why) {
    return {.name = "the state's " + pointer + " is " + value.dump().substr(0, 40),
            .why = why,
            .prepare = [=](const Target& target) {
                change(target.directory,
                       [&](Json& json) { json[Json::json_pointer(pointer)] = value; });
            }};
}

// The commands that read a run's states, and one that resumes from them.
void try_states(const std::vector<Attack>& attacks) {
    const AttackPlace place(Kind::run);
    const std::vector<std::string> readers{"rewind", "bisect", "fork from", "curves"};
    for (std::size_t i = 0; i < attacks.size(); ++i) {
        for (std::size_t j = 0; j < readers.size(); ++j) {
            if (!is_long() && (i + j) % 4 != 0) continue;
            try_readers(place, attacks[i], {find_command(reading_commands(Kind::run), readers[j])});
        }
        if (!is_long() && i % 3 != 0) continue;
        try_writers(place, attacks[i], {find_command(writing_commands(Kind::run), "resume")});
    }
}

constexpr const char* kTerminal = "\x1B]0;owned\a\x1B[2J";

}  // namespace

TEST_CASE("states: paths of what the run learned from") {
    constexpr const char* kWhy = "a file that a command reads, or a directory that it opens";
    std::vector<Attack> attacks;
    for (const char* path : {"home/.bashrc", "/etc/passwd", "/dev/zero", "/dev/tty", "above/victim",
                             "above/m", "", "t.txt\n", kTerminal, "/proc/self/environ"}) {
        attacks.push_back(value(change_config, "/text", path, kWhy));
        attacks.push_back({.name = std::string("data is ") + (path == kTerminal ? "escape" : path),
                           .why = kWhy,
                           .prepare = [=](const Target& target) {
                               change_config(target.directory, [&](Json& json) {
                                   json["text"] = "";
                                   json["data"] = path;
                               });
                           }});
    }
    attacks.push_back(value(change_config, "/start", "above/victim", kWhy));
    try_states(attacks);
}

// Data named by a checkpoint is an ordinary directory, with its own manifest.
TEST_CASE("states: data elsewhere, with a commit that seems to wait") {
    const Attack attack{.name = "data is a hostile directory",
                        .why = "it is opened as well",
                        .prepare = [](const Target& target) {
                            const fs::path data = target.victim.parent_path() / "data";
                            fs::create_directory(data);
                            ManifestText manifest;
                            manifest.list("../victim/notes.txt", "hostile\n");
                            manifest.list("data.json", "hostile\n");
                            manifest.write(data);
                            put_staged(data, "../victim/notes.txt", "hostile\n");
                            put_staged(data, "data.json", "hostile\n");
                            change_config(target.directory, [](Json& json) {
                                json["text"] = "";
                                json["data"] = "above/data";
                            });
                        }};
    auto place = std::make_unique<AttackPlace>(Kind::run);
    for (const char* name : {"rewind", "bisect", "fork from"}) {
        if (!try_readers(*place, attack, {find_command(reading_commands(Kind::run), name)})) {
            place = std::make_unique<AttackPlace>(Kind::run);
        }
    }
    try_writers(*place, attack, {find_command(writing_commands(Kind::run), "resume")});
}

TEST_CASE("states: words that are printed") {
    constexpr const char* kWhy = "a terminal obeys it";
    try_states(
        {value(change_state, "/tapestry", kTerminal, kWhy),
         value(change_state, "/isa", kTerminal, kWhy),
         value(change_state, "/data", kTerminal, kWhy),
         value(change_state, "/optimizer/kind", kTerminal, kWhy),
         value(change_state, "/frozen", Json::array({kTerminal}), kWhy),
         value(change_state, "/generators", {{kTerminal, {{"seed", 1}, {"offset", 1}}}}, kWhy),
         value(change_state, "/optimizer/groups/0/parameters/0", kTerminal, kWhy),
         value(change_config, "/recipe", kTerminal, kWhy),
         value(change_config, "/optimizer", kTerminal, kWhy),
         value(change_config, "/schedule", kTerminal, kWhy),
         value(change_config, "/model/activation", kTerminal, kWhy),
         value(change_config, "/train_only", Json::array({kTerminal}), kWhy),
         value(change_history, "/segments/0/overrides", Json::array({kTerminal}), kWhy)});
}

TEST_CASE("states: numbers that no run has") {
    constexpr const char* kWhy = "a size, a count or a divisor from a file";
    std::vector<Attack> attacks;
    std::vector<Json> numbers{0, std::int64_t{1} << 61};
    if (is_long()) numbers.insert(numbers.end(), {-1, 1e300});
    for (const Json& number : numbers) {
        for (const char* pointer :
             {"/steps", "/batch", "/micro_batches", "/eval_every", "/model/context",
              "/model/layers", "/model/dim", "/model/heads", "/model/vocab"}) {
            attacks.push_back(value(change_config, pointer, number, kWhy));
        }
        attacks.push_back(value(change_state, "/step", number, kWhy));
        attacks.push_back(value(change_state, "/optimizer/steps", number, kWhy));
        attacks.push_back(value(change_history, "/rewind_every", number, kWhy));
        attacks.push_back(value(change_history, "/segments/0/first_step", number, kWhy));
        attacks.push_back(value(change_history, "/metrics/bytes", number, kWhy));
        attacks.push_back(value(change_history, "/best/step", number, kWhy));
    }
    try_states(attacks);
}
