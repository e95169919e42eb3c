// The surroundings of the directory under test, where every change is noticed:
//
//     root/outside/        targets of attacks, and the text to train on
//     root/home/           HOME and XDG_CACHE_HOME
//     root/place/          the working directory; an archive may add files here
//     root/place/D/        the directory that the library opens
//     root/out/            output of calls that only read D
//
// Read next: run_archive.cpp, one run in it.
#pragma once

#include <tapestry/tests/fuzz/archive.h>

#include <filesystem>
#include <map>
#include <string>

namespace tapestry::fuzz {

/// The state of one file, link or directory.
struct Item {
    unsigned mode = 0;  ///< type and permissions
    std::uint64_t inode = 0;
    std::int64_t seconds = 0, nanoseconds = 0;  ///< modification time
    std::string contents = {};                  ///< or the target of a link

    bool operator==(const Item&) const = default;
};

using Snapshot = std::map<std::string, Item>;

/// The first difference ("outside/private/notes.txt was modified"), or "".
std::string difference(const Snapshot& before, const Snapshot& after);

class World {
public:
    /// Creates the tree in the directory for temporary files and changes to root/place. Sets HOME
    /// and XDG_CACHE_HOME.
    World();
    /// Removes the tree.
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    const std::filesystem::path& root() const { return root_; }

    /// Empties root/place and root/out, then creates the entries in root/place. Never follows a
    /// link or leaves root/place; skips entries that cannot be created. Replaces "@ROOT@" by the
    /// root in link targets and manifests, and in paths by the root with dashes for slashes, as in
    /// names of staged files.
    void unpack(const Archive& archive) const;

    /// All files of root/place, for unpack.
    Archive pack() const;

    /// The state of everything but root/out, and of D only if `with_directory`.
    Snapshot look(bool with_directory) const;

private:
    std::filesystem::path root_, before_;
    int place_ = -1;
};

/// One run of the fuzzer: unpacks the archive, makes its calls (calls.h), and compares everything
/// that they must not change: first after the readers, then after the writer. Returns the finding,
/// or "".
std::string run_archive(const World& world, const Archive& archive);

}  // namespace tapestry::fuzz
