// Possible contents of a disk after a power failure: of all that a process did to files, only what
// was synced is certain. Contents are certain after fsync of the file, names after fsync of their
// directory; everything else is present or not, in any combination, and the last write possibly in
// part. Renaming is atomic, as with every journal. This is harsher than most file systems, because
// it assumes only what their authors promise.
//
// After: Pillai et al. 2014, "All File Systems Are Not Created Equal: On the Complexity of Crafting
// Crash-Consistent Applications", OSDI.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/tests/survival/trace.h>

#include <map>
#include <memory>
#include <set>

namespace tapestry::test {

class Disk {
public:
    /// Applies the next call.
    void apply(const FileEvent& event);

    /// Creates in the empty `folder` what is left if the power fails now: everything synced, and of
    /// the rest nothing, or what `chance` selects.
    void leave(const std::filesystem::path& folder, Generator* chance = nullptr) const;

private:
    struct Write {
        std::uint64_t at = 0;
        std::string bytes = {};
        bool truncates = false;  ///< to `at`
    };
    struct File {
        std::string synced = {};
        std::vector<Write> pending = {};
        std::string contents(Generator* chance) const;
    };
    using FilePtr = std::shared_ptr<File>;
    /// A name that is created, or removed if `file` is null.
    struct Entry {
        std::string path;
        FilePtr file;
    };
    struct Change {
        std::vector<Entry> entries;
        std::set<std::string> directories;  ///< syncing any of these makes it certain
    };

    const FilePtr& file_at(const std::string& path) const;
    void change(std::vector<Entry> entries);
    void sync_directory(const std::string& path);

    std::map<std::string, FilePtr> now_;   // by path; directories have an empty file as well
    std::map<std::string, FilePtr> sure_;  // synced names
    std::vector<Change> pending_;
    std::set<std::string> directories_{""};
};

}  // namespace tapestry::test
