// A commit that seems unfinished: its manifest is valid, but the staged files are not.
#include <tapestry/tests/hostile/attack.h>
#include <tapestry/tests/hostile/manifest_text.h>
#include <tapestry/tests/hostile/odd_files.h>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kStates = "checkpoints/step-00000060.safetensors";

// In both layouts: replaces the staged file of `name`.
std::vector<Attack> as_staged(const std::string& what, const std::string& name,
                              const std::function<void(const Target&, const fs::path&)>& make) {
    std::vector<Attack> attacks;
    for (const bool on_top : {false, true}) {
        const fs::path staged = on_top ? staged_on_top(name) : staged_beside(name);
        if (on_top && staged == staged_beside(name)) continue;
        attacks.push_back({.name = "the staged " + name + " is " + what + ", at " + staged.native(),
                           .why = "it is moved to its place, and written to there",
                           .prepare = [=](const Target& target) {
                               ManifestText(target.directory).write(target.directory);
                               make(target, target.directory / staged);
                           }});
    }
    return attacks;
}

std::vector<Attack> operator+(std::vector<Attack> first, const std::vector<Attack>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

std::vector<Attack> as_staged(const std::string& what, const Replacement& replacement) {
    std::vector<Attack> attacks;
    for (const char* name : {"config.json", "metrics.jsonl", kStates, "best/model.safetensors"}) {
        attacks = attacks + as_staged(what, name, [=](const Target&, const fs::path& at) {
                      put(at, replacement);
                  });
    }
    return attacks;
}

// The sentinel's file of the same name, which matches the manifest, because the target and the
// sentinel are copies of one run.
std::vector<Attack> of_the_victim(const std::string& name) {
    const auto link = [name](const Target& target, const fs::path& at) {
        fs::remove(target.directory / name);
        fs::create_symlink(target.victim / name, at);
    };
    const auto hard_link = [name](const Target& target, const fs::path& at) {
        fs::remove(target.directory / name);
        fs::create_hard_link(target.victim / name, at);
    };
    return as_staged("a link to the victim's", name, link) +
           as_staged("a hard link to the victim's", name, hard_link);
}

// Other bytes than the manifest states.
std::vector<Attack> of_other_bytes(const std::string& name) {
    const auto flipped = [name](const Target& target, const fs::path& at) {
        std::string text = slurp(target.directory / name);
        text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
        spill(at, text);
    };
    const auto longer = [name](const Target& target, const fs::path& at) {
        spill(at, slurp(target.directory / name) + "x");
    };
    const auto shorter = [name](const Target& target, const fs::path& at) {
        const std::string text = slurp(target.directory / name);
        spill(at, text.substr(0, text.size() - 1));
    };
    return as_staged("of other bytes", name, flipped) + as_staged("longer", name, longer) +
           as_staged("shorter", name, shorter);
}

}  // namespace

TEST_CASE("hostile: a staged file that is not a regular file") {
    try_attacks(Kind::run, as_staged("a pipe", a_fifo) + as_staged("a folder", a_folder) +
                               as_staged("a device", a_device) +
                               as_staged("a link to itself", link_to("config.json")) +
                               as_staged("a link to nothing", link_to("../none")) +
                               as_staged("a link to an endless file", link_to("/dev/zero")) +
                               as_staged("a terabyte", a_huge_file));
}

TEST_CASE("hostile: a staged file that belongs to another user") {
    std::vector<Attack> attacks;
    for (const char* name : {"config.json", "model.safetensors", "metrics.jsonl", kStates,
                             "best/model.safetensors", "best/tapestry-manifest.json"}) {
        attacks = attacks + of_the_victim(name);
    }
    try_attacks(Kind::run, attacks);
}

TEST_CASE("hostile: a staged file of other bytes than the manifest states") {
    std::vector<Attack> attacks;
    for (const char* name : {"config.json", "model.safetensors", kStates, "tokenizer.json"}) {
        attacks = attacks + of_other_bytes(name);
    }
    try_attacks(Kind::run, attacks);
}

// Staged files of a commit that never completed may be removed; files that only look similar may
// not.
TEST_CASE("hostile: files that are called nearly as staged ones are") {
    const std::vector<std::string> names{".saving-thesis.txt",
                                         ".saving-",
                                         ".saving-0123456789abcdef-thesis.txt",
                                         ".saving-0123456789ABCDEF-config.json",
                                         ".saving-0123456789abcdef",
                                         "best/.saving-thesis.txt",
                                         ".tapestry-thesis.tmp",
                                         ".tapestry-.tmp",
                                         ".tapestry-1-thesis.tmp",
                                         "checkpoints/.tapestry-thesis.tmp"};
    const Attack attack{.name = "files called nearly as staged ones",
                        .why = "a writer tidies up",
                        .prepare =
                            [names](const Target& target) {
                                for (const std::string& name : names) {
                                    spill(target.directory / name, "mine");
                                }
                            },
                        .foreign = names};
    try_attacks(Kind::run, {attack});
    try_writers(AttackPlace(Kind::run), attack, writing_commands(Kind::run));
}
