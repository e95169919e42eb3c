// Attacks by directory: what is done to a valid one, and what every command must then leave alone.
// Each is tried in a place with a sentinel tree beside the directory, whose files have the names
// that attacks aim at.
//
// Read next: names_test.cpp, the plainest table; commands.h, which commands are run.
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

/// What an attack is done to.
struct Target {
    std::filesystem::path directory;  ///< the one that a command is given
    std::filesystem::path victim;  ///< beside it: a valid run, notes.txt, secret-config.json, ...
};

struct Attack {
    std::string name;
    std::string why;
    std::function<void(const Target&)> prepare;
    /// If not empty: readers of the manifest end with exit code 2 and an error that has these
    /// words.
    std::string refusal = {};
    /// Files of the directory that no command may change or remove.
    std::vector<std::string> foreign = {};
};

/// A folder with the directory to attack (above/m), the sentinel (above/victim), a valid run
/// (good; with Kind::data a model of it, pairs), a text (t.txt), and a home, a cache and a folder
/// for outputs of the command's own.
class AttackPlace : public Place {
public:
    explicit AttackPlace(Kind kind);

    Target target() const { return {*this / "above/m", *this / "above/victim"}; }

    /// Copies the valid directory, does this to it, and sets back all times.
    void prepare(const Attack& attack) const;
    /// Empties the folder for outputs, and runs the command.
    Outcome run(const Command& command, bool as_nobody = false) const;

    /// All but the directory, outputs and cache.
    Tree outside() const;
    Tree inside() const { return tree_of(target().directory); }

private:
    Kind kind_;
};

/// Tries each attack with a command that reads, and every third with one that writes, by turns;
/// all of them with all commands, as root and as another user, where TAPESTRY_TESTS=long says so.
void try_attacks(Kind kind, const std::vector<Attack>& attacks);

/// Tries it with these commands, and returns whether all that is outside is as it was. Commands
/// that write have a copy of their own each.
bool try_readers(const AttackPlace& place, const Attack& attack,
                 const std::vector<Command>& commands);
bool try_writers(const AttackPlace& place, const Attack& attack,
                 const std::vector<Command>& commands);

/// Exit code 0, 1 or 2, in the last case with at most one line on stderr, and no control
/// characters there.
void check_ended(const Command& command, const Outcome& outcome);

}  // namespace tapestry::test
