// What a disk may hold after the power failed: of all that a process did to files, only what was
// synced is sure. Contents are sure after fsync of the file, names after fsync of their directory;
// everything else is there or not, in any selection, and the last write perhaps in part. Renaming
// is atomic, as every journal makes it. Harsher than most file systems, for their authors promise
// no more.
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
    /// After another call.
    void apply(const FileEvent& event);

    /// Makes in `folder`, which is empty, what is left if the power fails now: all that was synced,
    /// and of the rest nothing, or what `chance` selects.
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
    /// A name that comes or goes; null: it goes.
    struct Entry {
        std::string path;
        FilePtr file;
    };
    struct Change {
        std::vector<Entry> entries;
        std::set<std::string> directories;  ///< any of which makes it sure when it is synced
    };

    const FilePtr& file_at(const std::string& path) const;
    void change(std::vector<Entry> entries);
    void sync_directory(const std::string& path);

    std::map<std::string, FilePtr> now_;   // by path; directories have an empty file, too
    std::map<std::string, FilePtr> sure_;  // names that were synced
    std::vector<Change> pending_;
    std::set<std::string> directories_{""};
};

}  // namespace tapestry::test
