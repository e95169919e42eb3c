// What surrounds the directory under attack, so that anything written outside of it is noticed:
//
//     root/outside/        files that an attack aims at, and the text that runs learn from
//     root/home/           HOME and XDG_CACHE_HOME
//     root/place/          the working directory; an archive may put files here, too
//     root/place/D/        the directory that the library is asked to open
//     root/out/            for what reads D and writes elsewhere
//
// Read next: run_archive.h, one run in it.
#pragma once

#include <tapestry/tests/fuzz/archive.h>

#include <filesystem>
#include <map>
#include <string>

namespace tapestry::fuzz {

/// One file, link or directory as it is now. Equal before and after: nothing happened to it.
struct Item {
    unsigned mode = 0;  ///< type and permissions
    std::uint64_t inode = 0;
    std::int64_t seconds = 0, nanoseconds = 0;  ///< when it was modified
    std::string contents = {};                  ///< the target of a link

    bool operator==(const Item&) const = default;
};

using Snapshot = std::map<std::string, Item>;

/// "outside/private/notes.txt was modified", the first difference; "" if there is none.
std::string difference(const Snapshot& before, const Snapshot& after);

class World {
public:
    /// Makes the tree below the directory for temporary files and enters root/place; sets HOME and
    /// XDG_CACHE_HOME.
    World();
    /// Removes all of it.
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    const std::filesystem::path& root() const { return root_; }

    /// Empties root/place and root/out and fills root/place. Never follows a link, never leaves
    /// root/place; what cannot be made is left out. "@ROOT@" in link targets and manifests becomes
    /// the root; in paths the root with dashes, as names of staged files have it.
    void unpack(const Archive& archive) const;

    /// All files of root/place, as unpack takes them.
    Archive pack() const;

    /// Everything but root/out. D as well if `with_directory`.
    Snapshot look(bool with_directory) const;

private:
    std::filesystem::path root_, before_;
    int place_ = -1;
};

}  // namespace tapestry::fuzz
