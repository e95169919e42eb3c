// Files that writing commands may remove: only those that this program wrote, by name and checksum.
#include <tapestry/tests/hostile/attack.h>
#include <tapestry/tests/hostile/manifest_text.h>
#include <tapestry/tests/hostile/odd_files.h>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

Attack foreign(const std::string& name, const char* why, const Replacement& replacement,
               const std::vector<std::string>& more = {}) {
    Attack attack{.name = "a foreign " + name,
                  .why = why,
                  .prepare = [=](const Target& t) { put(t.directory / name, replacement); },
                  .foreign = {name}};
    attack.foreign.insert(attack.foreign.end(), more.begin(), more.end());
    return attack;
}

const Replacement kMine = contents("somebody else's\n");

// Named like states, so a run that takes over the directory would remove them.
const std::vector<Attack> kStates{
    foreign("checkpoints/step-1000.safetensors", "not a name of ours", kMine),
    foreign("checkpoints/step-00001000.safetensors", "a name of ours, and not listed", kMine),
    foreign("rewind/step-00001000.safetensors", "the same", kMine),
    foreign("rewind/step-7.safetensors", "not a name of ours", kMine),
    foreign("checkpoints/step-00000040.safetensors", "listed, with another checksum", kMine),
    foreign("rewind/step-00000020.safetensors", "the same", kMine),
    foreign("best/model.safetensors", "the same", kMine),
    foreign("best/config.json", "the same", kMine),
};

const std::vector<Attack> kOthers{
    foreign("notes.txt", "not ours", kMine),
    foreign("checkpoints/notes.txt", "not ours", kMine),
    foreign("rewind/notes.txt", "not ours", kMine),
    foreign("best/notes.txt", "not ours", kMine),
    foreign("trap/notes.txt", "not ours", kMine),
    foreign("other/model.safetensors", "not ours", kMine),
    foreign("model.safetensors.bak", "not ours", kMine),
    foreign("checkpoints/step-00001000.safetensors", "an empty folder", a_folder),
    foreign("checkpoints/step-00000040.safetensors", "listed, and an empty folder", a_folder),
    foreign("checkpoints/step-1000.safetensors", "a pipe", a_fifo),
    foreign("checkpoints/step-1000.safetensors", "a link", link_to("../../victim/notes.txt")),
};

Attack listed_outside(const std::string& name) {
    return {.name = "the manifest lists " + name,
            .why = "a run that takes the directory over removes what is listed",
            .prepare =
                [=](const Target& target) {
                    ManifestText manifest(target.directory);
                    manifest.list(name, slurp(target.directory / name));
                    manifest.write(target.directory);
                },
            .refusal = "tapestry-manifest.json"};
}

// Files that an interrupted commit was about to remove.
Attack removed(const std::string& name, const std::string& contents, const char* why,
               const std::string& refusal = "") {
    return {.name = "to be removed: " + name,
            .why = why,
            .prepare =
                [=](const Target& target) {
                    ManifestText manifest(target.directory), one;
                    one.list(name, contents.empty() ? slurp(target.directory / name) : contents);
                    const std::string text = one.text();
                    const auto files = text.find("\"files\":") + 8;
                    manifest.removed = text.substr(files, text.rfind('}') - files);
                    manifest.write(target.directory);
                },
            .refusal = refusal};
}

const Command& writer(const std::string& name) {
    return find_command(writing_commands(Kind::run), name);
}

}  // namespace

TEST_CASE("hostile: what a run did not write stays, and is named") {
    AttackPlace place(Kind::run);
    for (const Attack& attack : kStates) {
        try_writers(place, attack, {writer("train into"), writer("resume with nonsense")});
        // That run has a new best model, replacing the old one.
        const bool is_best = attack.foreign[0].starts_with("best/");
        if (!is_best) try_writers(place, attack, {writer("resume")});
        CAPTURE(attack.name);
        place.prepare(attack);
        const Outcome outcome = place.run(writer("train into"));
        INFO("stderr: " << outcome.err);
        if (outcome.code == 0) {
            CHECK(outcome.err.find(fs::path(attack.foreign[0]).filename()) != std::string::npos);
        }
    }
}

TEST_CASE("hostile: other files in a run's folders stay") { try_attacks(Kind::run, kOthers); }

TEST_CASE("hostile: a run that replaces another removes what is listed, only in its directory") {
    std::vector<Attack> attacks;
    for (const std::string name :
         {"../victim/notes.txt", "checkpoints/../../victim/notes.txt",
          "../victim/checkpoints/step-00000040.safetensors",
          "checkpoints/../../victim/checkpoints/step-00000060.safetensors"}) {
        attacks.push_back(listed_outside(name));
    }
    auto place = std::make_unique<AttackPlace>(Kind::run);
    for (const Attack& attack : attacks) {
        if (!try_writers(*place, attack, {writer("train into")})) {
            place = std::make_unique<AttackPlace>(Kind::run);
        }
    }
    try_attacks(Kind::run, attacks);
}

TEST_CASE("hostile: what a commit was to remove is removed by name and checksum alone") {
    constexpr const char* kManifest = "tapestry-manifest.json";
    constexpr const char* kOut = "outside";
    std::vector<Attack> attacks{
        removed("../victim/notes.txt", "", kOut, kManifest),
        removed("checkpoints/../../victim/notes.txt", "", kOut, kManifest),
        removed("notes.txt", "mine", "no name of ours", kManifest),
        removed("checkpoints/step-1000.safetensors", "mine", "no name of ours", kManifest),
        removed("", "mine", "empty", kManifest),
        removed("checkpoints", "mine", "a folder", kManifest)};
    attacks.push_back(
        removed("checkpoints/step-00000050.safetensors", "not what is there", "another checksum"));
    attacks.back().foreign = {"checkpoints/step-00000050.safetensors"};
    attacks.back().prepare = [prepare = attacks.back().prepare](const Target& target) {
        spill(target.directory / "checkpoints/step-00000050.safetensors", "mine");
        prepare(target);
    };
    attacks.push_back(removed("config.json", "", "listed as well, which comes first"));
    attacks.push_back(removed("checkpoints/step-00000060.safetensors", "", "the same"));
    try_attacks(Kind::run, attacks);
    auto place = std::make_unique<AttackPlace>(Kind::run);
    for (const Attack& attack : attacks) {
        if (!try_writers(*place, attack, {writer("train into"), writer("resume")})) {
            place = std::make_unique<AttackPlace>(Kind::run);
        }
    }
}

// Conversely, another run's states are not kept forever.
TEST_CASE("hostile: what a run wrote is removed by one that takes its directory over") {
    const AttackPlace place(Kind::run);
    place.prepare({});
    const Outcome outcome = place.run(writer("train into"));
    CHECK_EQ(outcome.err, "");
    CHECK_EQ(outcome.code, 0);
    const fs::path directory = place.target().directory;
    for (const std::string name :
         {"checkpoints/step-00000040.safetensors", "checkpoints/step-00000060.safetensors",
          "rewind/step-00000020.safetensors", "best/model.safetensors"}) {
        CAPTURE(name);
        CHECK_FALSE(fs::exists(directory / name));
    }
}

// The link is not what was written, but its target has the same bytes: only the link may be
// removed.
TEST_CASE("hostile: a listed file that is a link to the same bytes outside") {
    std::vector<Attack> attacks;
    for (const std::string name : {"checkpoints/step-00000040.safetensors",
                                   "rewind/step-00000020.safetensors", "best/model.safetensors"}) {
        attacks.push_back({.name = name,
                           .why = "right checksum, by way of a link",
                           .prepare = [=](const Target& target) {
                               put(target.directory / name, link_to(target.victim / name));
                           }});
    }
    try_attacks(Kind::run, attacks);
    const AttackPlace place(Kind::run);
    for (const Attack& attack : attacks)
        try_writers(place, attack, {writer("train into"), writer("resume")});
}
