#include <tapestry/tests/hostile/attack.h>

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace tapestry::test {
namespace {

namespace fs = std::filesystem;

// A run, so each file of the attacked directory has a sentinel of the same name, plus a few more.
void make_victim(const fs::path& victim) {
    copy_directory(valid_directory(Kind::run), victim);
    for (const char* name :
         {"notes.txt", "report.html", "step.json", "ids.bin", "secret-config.json",
          "secret-model.safetensors", "checkpoints/notes.txt", "checkpoints/step-1000.safetensors",
          "rewind/notes.txt", "best/notes.txt"}) {
        spill(victim / name, std::string("the victim's ") + name);
    }
    fs::create_directory(victim / "trap");
    spill(victim / "trap/notes.txt", "the victim's trap");
}

Surroundings surroundings(const Place& place, bool as_nobody) {
    const auto path = [&](const char* name) { return (place / name).native(); };
    return {.environment = {{"HOME", path("home")},
                            {"TMPDIR", path("tmp")},
                            {"XDG_CACHE_HOME", path("cache")}},
            .as_nobody = as_nobody,
            .seconds = 120};
}

// A different one for each attack; plus a slow one at every 32nd attack.
std::vector<Command> by_turns(const std::vector<Command>& commands, std::size_t turn) {
    if (is_long()) return commands;
    std::vector<Command> fast, slow, some;
    for (const Command& command : commands) (command.slow ? slow : fast).push_back(command);
    if (!fast.empty()) some.push_back(fast[turn % fast.size()]);
    if (turn % 32 == 7 && !slow.empty()) some.push_back(slow[turn / 32 % slow.size()]);
    return some;
}

void check_refusal(const Command& command, const Outcome& outcome, const std::string& words) {
    INFO("command: " << command.name);
    check_refused(outcome, words);
}

// The tree without the lock, which may have been taken and released.
Tree without_lock(Tree tree) {
    tree.erase(".lock");
    return without_times(std::move(tree));
}

// Does not count warnings about files left in place.
std::size_t lines_but_warnings(const std::string& err) {
    std::size_t count = 0;
    for (const std::string& line : lines_of(err)) count += line.ends_with("left unchanged") ? 0 : 1;
    return count;
}

Tree only(const Tree& tree, const std::vector<std::string>& names) {
    Tree some;
    for (const std::string& name : names) {
        if (tree.contains(name)) some[name] = tree.at(name);
    }
    return some;
}

}  // namespace

AttackPlace::AttackPlace(Kind kind) : kind_(kind) {
    spill(*this / "t.txt", simple_text());
    for (const char* name : {"above", "home/.ssh", "tmp", "cache", "out"}) {
        fs::create_directories(*this / name);
    }
    for (const char* name : {"tmp", "cache", "out"}) fs::permissions(*this / name, fs::perms(0777));
    spill(*this / "home/.bashrc", "the user's");
    spill(*this / "home/.ssh/authorized_keys", "the user's");
    make_victim(*this / "above/victim");
    copy_directory(valid_directory(Kind::run), *this / "good");
    if (kind == Kind::data) copy_directory(model_of_pairs(), *this / "pairs");
}

void AttackPlace::prepare(const Attack& attack) const {
    for (const auto& entry : fs::directory_iterator(*this / "above")) {
        if (entry.path() != target().victim) fs::remove_all(entry);
    }
    copy_directory(valid_directory(kind_), target().directory);
    if (attack.prepare) attack.prepare(target());
    set_back_times(path());
}

Outcome AttackPlace::run(const Command& command, bool as_nobody) const {
    for (const auto& entry : fs::directory_iterator(*this / "out")) fs::remove_all(entry);
    return Place::run(command.arguments, surroundings(*this, as_nobody));
}

Tree AttackPlace::outside() const { return tree_of(path(), {"above/m", "out", "cache"}); }

void check_ended(const Command& command, const Outcome& outcome) {
    INFO("stdout: " << outcome.out.substr(0, 500));
    INFO("stderr: " << outcome.err.substr(0, 2000));
    const bool undecided = outcome.code == 3 && command.arguments[0] == "gradcheck";
    const bool ended = outcome.code >= 0 && (outcome.code <= 2 || undecided);
    CHECK_MESSAGE(ended, "exit code ", outcome.code);
    if (outcome.code == 2) CHECK_LE(lines_but_warnings(outcome.err), 1);
    const auto is_control = [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == '\x7F'; };
    CHECK(std::none_of(outcome.err.begin(), outcome.err.end(), is_control));
    if (command.arguments[0] != "sample") CHECK_EQ(outcome.out.find('\x1B'), std::string::npos);
}

bool try_readers(const AttackPlace& place, const Attack& attack,
                 const std::vector<Command>& commands) {
    bool changed = true, unharmed = true;
    Tree outside, inside;
    const auto try_one = [&](const Command& command, bool as_nobody) {
        INFO("attack: " << attack.name << " (" << attack.why << ")");
        INFO("command: " << command.name << (as_nobody ? " as nobody" : ""));
        if (changed) {
            place.prepare(attack);
            outside = place.outside();
            inside = place.inside();
        }
        const Outcome outcome = place.run(command, as_nobody);
        check_ended(command, outcome);
        const std::string out = difference(outside, place.outside());
        const std::string in = difference(inside, place.inside());
        CHECK_EQ(out, "");
        CHECK_EQ(in, "");
        if (command.reads_manifest && !attack.refusal.empty()) {
            check_refusal(command, outcome, attack.refusal);
        }
        changed = !out.empty() || !in.empty();
        unharmed = unharmed && out.empty();
    };
    for (const Command& command : commands) {
        try_one(command, false);
        if (is_long() && can_become_nobody()) try_one(command, true);
    }
    return unharmed;
}

bool try_writers(const AttackPlace& place, const Attack& attack,
                 const std::vector<Command>& commands) {
    bool unharmed = true;
    for (const Command& command : commands) {
        INFO("attack: " << attack.name << " (" << attack.why << ")");
        INFO("command: " << command.name);
        place.prepare(attack);
        const Tree outside = place.outside(), inside = place.inside();
        const Outcome outcome = place.run(command);
        check_ended(command, outcome);
        const std::string out = difference(outside, place.outside());
        CHECK_EQ(out, "");
        unharmed = unharmed && out.empty();
        const Tree after = place.inside();
        CHECK_EQ(difference(without_times(only(inside, attack.foreign)),
                            without_times(only(after, attack.foreign))),
                 "");
        if (!command.refused) continue;
        CHECK_EQ(outcome.code, 2);
        CHECK_EQ(difference(without_lock(inside), without_lock(after)), "");
    }
    return unharmed;
}

void try_attacks(Kind kind, const std::vector<Attack>& attacks) {
    auto place = std::make_unique<AttackPlace>(kind);
    for (std::size_t i = 0; i < attacks.size(); ++i) {
        const bool read = try_readers(*place, attacks[i], by_turns(reading_commands(kind), i));
        const bool writes = is_long() || i % 3 == 0;
        const bool written =
            !writes || try_writers(*place, attacks[i], by_turns(writing_commands(kind), i / 3));
        if (!read || !written) place = std::make_unique<AttackPlace>(kind);
    }
}

}  // namespace tapestry::test
