// Attacks by directory: modifications of a valid directory, and everything that commands must then
// leave unchanged. Each is tried next to a sentinel tree, whose files have the names that attacks
// aim at.
//
// Read next: names_test.cpp, the simplest table; commands.h, the commands.
#pragma once

#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/hostile/commands.h>
#include <tapestry/tests/hostile/directories.h>
#include <tapestry/tests/hostile/tree_hash.h>
#include <tapestry/tests/skip.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tapestry::test {

/// The target of an attack.
struct Target {
    std::filesystem::path directory;  ///< the directory that commands get
    std::filesystem::path victim;  ///< next to it: a valid run, notes.txt, secret-config.json, ...
};

struct Attack {
    std::string name;
    std::string why;
    std::function<void(const Target&)> prepare;
    /// If not empty: commands that read the manifest exit with code 2 and an error containing these
    /// words.
    std::string refusal = {};
    /// Files of the directory that no command may change or remove.
    std::vector<std::string> foreign = {};
};

/// A folder with the directory to attack (above/m), the sentinel (above/victim), a valid run (good;
/// with Kind::data a model of it, pairs), a text (t.txt), and a home, a cache and an output folder
/// for commands.
class AttackPlace : public Place {
public:
    explicit AttackPlace(Kind kind);

    Target target() const { return {*this / "above/m", *this / "above/victim"}; }

    /// Copies the valid directory, applies the attack, and resets all modification times.
    void prepare(const Attack& attack) const;
    /// Empties the output folder and runs the command.
    Outcome run(const Command& command, bool as_nobody = false) const;

    /// Everything but the directory, outputs and cache.
    Tree outside() const;
    Tree inside() const { return tree_of(target().directory); }

private:
    Kind kind_;
};

/// Tries each attack with one reading command, and every third with one writing command, cycling
/// through them; with TAPESTRY_TESTS=long all attacks with all commands, as root and as another
/// user.
void try_attacks(Kind kind, const std::vector<Attack>& attacks);

/// Tries it with these commands; returns whether everything outside is unchanged. Each writing
/// command gets a fresh copy.
bool try_readers(const AttackPlace& place, const Attack& attack,
                 const std::vector<Command>& commands);
bool try_writers(const AttackPlace& place, const Attack& attack,
                 const std::vector<Command>& commands);

/// Expects exit code 0, 1 or 2, for 2 at most one line on stderr, and no control characters there.
void check_ended(const Command& command, const Outcome& outcome);

}  // namespace tapestry::test
