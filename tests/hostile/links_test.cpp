// Files and folders replaced by links, hard links, pipes or devices. Reading through a symbolic
// link is allowed (Hugging Face's cache consists of them); writing through one is not.
#include <tapestry/tests/hostile/attack.h>
#include <tapestry/tests/hostile/manifest_text.h>
#include <tapestry/tests/hostile/odd_files.h>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kState = "checkpoints/step-00000060.safetensors";

Attack with(const std::string& name, const std::string& what, const Replacement& replacement) {
    return {.name = name + " is " + what,
            .why = "a command reads it, or writes where it is",
            .prepare = [=](const Target& target) { put(target.directory / name, replacement); }};
}

// Links to the sentinel's file of the same name, or to its text.
std::vector<Attack> of_the_victim(const std::string& name) {
    const auto put_link = [name](bool hard, const char* victim) {
        return [=](const Target& target) {
            fs::path to = target.victim / (victim == nullptr ? name : victim);
            if (hard && !fs::exists(to)) to = target.victim / "notes.txt";
            put(target.directory / name, hard ? hard_link_to(to) : link_to(to));
        };
    };
    return {{name + " is a link to the victim's", "followed when it is written",
             put_link(false, nullptr)},
            {name + " is a hard link to the victim's", "written in place", put_link(true, nullptr)},
            {name + " is a link to a text", "followed when it is written",
             put_link(false, "notes.txt")},
            {name + " is a hard link to a text", "written in place", put_link(true, "notes.txt")}};
}

void add(std::vector<Attack>& to, const std::vector<Attack>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

TEST_CASE("hostile: files that are links out of the directory") {
    std::vector<Attack> attacks;
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json", "metrics.jsonl",
                             "report.html", kState, "best/model.safetensors"}) {
        add(attacks, of_the_victim(name));
    }
    attacks.push_back(
        {"all files are links", "as in Hugging Face's cache", [](const Target& target) {
             for (const auto& [name, entry] : tree_of(target.directory)) {
                 if (!S_ISREG(entry.mode)) continue;
                 put(target.directory / name, link_to(target.victim / name));
             }
         }});
    attacks.push_back({"all files are hard links", "as in a backup", [](const Target& target) {
                           for (const auto& [name, entry] : tree_of(target.directory)) {
                               if (!S_ISREG(entry.mode)) continue;
                               put(target.directory / name, hard_link_to(target.victim / name));
                           }
                       }});
    try_attacks(Kind::run, attacks);
}

// A resumed run appends to its metrics in place.
TEST_CASE("hostile: metrics that belong to another user") {
    std::vector<Attack> attacks = of_the_victim("metrics.jsonl");
    attacks.push_back({"staged metrics are a hard link", "they are moved, and appended to",
                       [](const Target& target) {
                           ManifestText(target.directory).write(target.directory);
                           put(target.directory / staged_beside("metrics.jsonl"),
                               hard_link_to(target.victim / "metrics.jsonl"));
                       }});
    auto place = std::make_unique<AttackPlace>(Kind::run);
    for (const Attack& attack : attacks) {
        if (!try_writers(*place, attack, {find_command(writing_commands(Kind::run), "resume")})) {
            place = std::make_unique<AttackPlace>(Kind::run);
        }
    }
}

TEST_CASE("hostile: files that are not regular files") {
    std::vector<Attack> attacks;
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json", "metrics.jsonl",
                             "report.html", kState, "best/model.safetensors"}) {
        add(attacks, {with(name, "a pipe", a_fifo), with(name, "a folder", a_folder),
                      with(name, "a link to itself", link_to(fs::path(name).filename())),
                      with(name, "a link to an endless file", link_to("/dev/zero")),
                      with(name, "a terabyte", a_huge_file)});
    }
    for (const char* name : {"config.json", "metrics.jsonl", kState, "report.html"}) {
        add(attacks, {with(name, "a socket", a_socket), with(name, "a device", a_device)});
    }
    try_attacks(Kind::run, attacks);
}

TEST_CASE("hostile: the lock belongs to another user") {
    std::vector<Attack> attacks = of_the_victim(".lock");
    add(attacks,
        {with(".lock", "a link to nothing", link_to("../victim/new")),
         with(".lock", "a link to itself", link_to(".lock")), with(".lock", "a pipe", a_fifo),
         with(".lock", "a folder", a_folder), with(".lock", "a device", a_device),
         with(".lock", "a text", contents("a text of mine\n")),
         with(".lock", "a terminal's command", contents("\x1B[2J4711\n")),
         with(".lock", "a terabyte", a_huge_file)});
    attacks[0].refusal = "";
    try_attacks(Kind::run, attacks);
    const AttackPlace place(Kind::run);
    for (const Attack& attack : attacks) {
        if (!try_writers(place, attack, {find_command(writing_commands(Kind::run), "train into")}))
            break;
    }
}

TEST_CASE("hostile: the metrics that are on their way") {
    const std::string name = "metrics.new.jsonl";
    std::vector<Attack> attacks = of_the_victim(name);
    add(attacks, {with(name, "a link to nothing", link_to("../victim/new")),
                  with(name, "a pipe", a_fifo), with(name, "a folder", a_folder)});
    try_attacks(Kind::run, attacks);
    const AttackPlace place(Kind::run);
    for (const Attack& attack : attacks) {
        if (!try_writers(place, attack, {find_command(writing_commands(Kind::run), "train into")}))
            break;
    }
}

namespace {

// A folder of the run replaced by a link.
Attack folder(const std::string& name, const std::string& to, const char* why) {
    return {.name = name + " is a link to " + to, .why = why, .prepare = [=](const Target& target) {
                put(target.directory / name, link_to(to));
            }};
}

std::vector<Attack> folders(const std::string& name) {
    return {folder(name, "../victim/" + name, "what is written and removed in it is outside"),
            folder(name, "../victim", "the same"),
            folder(name, "../../home", "the same"),
            folder(name, ".", "the directory itself"),
            folder(name, "..", "the directory above"),
            folder(name, name, "a loop"),
            folder(name, "../victim/none", "made when it is written to"),
            folder(name, name == "best" ? "rewind" : "best", "another folder of it")};
}

}  // namespace

TEST_CASE("hostile: folders that are links") {
    std::vector<Attack> attacks;
    for (const char* name : {"checkpoints", "rewind", "best", "trap"}) add(attacks, folders(name));
    try_attacks(Kind::run, attacks);
    const auto& writers = writing_commands(Kind::run);
    auto place = std::make_unique<AttackPlace>(Kind::run);
    for (const Attack& attack : attacks) {  // with the command that writes there
        const char* const by = attack.name.starts_with("trap") ? "trap into" : "resume";
        if (!try_writers(*place, attack, {find_command(writers, by)})) {
            place = std::make_unique<AttackPlace>(Kind::run);
        }
    }
}

TEST_CASE("hostile: files in place of folders") {
    std::vector<Attack> attacks;
    for (const char* name : {"checkpoints", "rewind", "best", "trap"}) {
        add(attacks, {with(name, "a file", contents("mine")), with(name, "a pipe", a_fifo),
                      with(name, "a link to a file", link_to("../victim/notes.txt"))});
        for (Attack& attack : attacks)
            attack.foreign = {attack.name.substr(0, attack.name.find(' '))};
    }
    try_attacks(Kind::run, attacks);
}

TEST_CASE("hostile: links in a trap") {
    std::vector<Attack> attacks;
    for (const char* name : {"trap/step.json", "trap/config.json", "trap/model.safetensors"}) {
        const auto victim = [name](bool hard) {
            return [=](const Target& target) {
                const fs::path to = target.victim / fs::path(name).filename();
                put(target.directory / name, hard ? hard_link_to(to) : link_to(to));
            };
        };
        attacks.push_back({std::string(name) + " is a link out", "", victim(false)});
        attacks.push_back({std::string(name) + " is a hard link", "", victim(true)});
        add(attacks, {with(name, "a pipe", a_fifo), with(name, "a folder", a_folder)});
    }
    attacks.push_back(folder("trap", "../victim/trap", "what is written in it is outside"));
    attacks.push_back(folder("trap", ".", "the run itself"));
    try_attacks(Kind::trap, attacks);
    const Command& trap = find_command(writing_commands(Kind::trap), "trap into");
    auto place = std::make_unique<AttackPlace>(Kind::trap);
    for (const Attack& attack : attacks) {
        if (!try_writers(*place, attack, {trap})) place = std::make_unique<AttackPlace>(Kind::trap);
    }
}
