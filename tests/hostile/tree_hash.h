// A directory tree as a value, compared to see whether a command changed anything. Independent of
// the library's file functions, except for the checksum of contents.
//
// Read next: attack.h, which uses it to check what a hostile directory must not affect.
#pragma once

#include <tapestry/core/checksum.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <vector>

namespace tapestry::test {

/// The recorded state of a file, folder, link, pipe or device.
struct TreeEntry {
    mode_t mode = 0;            ///< type and permissions
    std::uint64_t size = 0;     ///< of regular files
    std::string contents;       ///< checksum of a regular file; target of a link
    std::int64_t modified = 0;  ///< in nanoseconds

    bool operator==(const TreeEntry&) const = default;
};

/// Entries by their path below the root, which itself is ".".
using Tree = std::map<std::string, TreeEntry>;

namespace tree_hash {

// The first MB is enough: some attacks use sparse files of a terabyte.
inline std::string checksum_of_file(const std::filesystem::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return "unreadable";
    Checksum checksum;
    std::array<char, 65536> buffer{};
    for (std::size_t all = 0; all < (std::size_t{1} << 20);) {
        const auto got = ::read(file, buffer.data(), buffer.size());
        if (got <= 0) break;
        checksum.add(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
        all += static_cast<std::size_t>(got);
    }
    ::close(file);
    return checksum.hex();
}

inline std::int64_t nanoseconds(const timespec& t) { return t.tv_sec * 1000000000 + t.tv_nsec; }

// Caches contents by the inode's change time, which cannot be set.
inline const std::string& known_checksum(const std::filesystem::path& path,
                                         const struct stat& status) {
    static std::map<std::array<std::int64_t, 5>, std::string> known;
    std::string& checksum =
        known[{static_cast<std::int64_t>(status.st_dev), static_cast<std::int64_t>(status.st_ino),
               status.st_size, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)}];
    if (checksum.empty()) checksum = checksum_of_file(path);
    return checksum;
}

inline TreeEntry entry_at(const std::filesystem::path& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return {};
    TreeEntry entry;
    entry.mode = status.st_mode;
    entry.modified = nanoseconds(status.st_mtim);
    if (S_ISREG(status.st_mode)) {
        entry.size = static_cast<std::uint64_t>(status.st_size);
        entry.contents = known_checksum(path, status);
    }
    std::error_code ignored;
    if (S_ISLNK(status.st_mode)) {
        entry.contents = std::filesystem::read_symlink(path, ignored).native();
    }
    return entry;
}

inline void add(Tree& tree, const std::filesystem::path& root, const std::string& name,
                const std::vector<std::string>& except) {
    if (std::find(except.begin(), except.end(), name) != except.end()) return;
    const std::filesystem::path path = name == "." ? root : root / name;
    const TreeEntry& entry = tree[name] = entry_at(path);
    if (!S_ISDIR(entry.mode)) return;
    std::error_code ignored;
    for (const auto& child : std::filesystem::directory_iterator(path, ignored)) {
        const std::string leaf = child.path().filename().native();
        add(tree, root, name == "." ? leaf : name + "/" + leaf, except);
    }
}

inline std::string what_changed(const TreeEntry& before, const TreeEntry& after) {
    if ((before.mode & S_IFMT) != (after.mode & S_IFMT)) return "is of another type";
    if (before.size != after.size || before.contents != after.contents) return "has other contents";
    if (before.mode != after.mode) return "has other permissions";
    return "was touched";
}

}  // namespace tree_hash

/// All entries below `root`, without following links; `except` names subtrees to leave out.
inline Tree tree_of(const std::filesystem::path& root,
                    const std::vector<std::string>& except = {}) {
    Tree tree;
    tree_hash::add(tree, root, ".", except);
    return tree;
}

/// One line per added, removed or changed entry; empty if there is none.
inline std::string difference(const Tree& before, const Tree& after) {
    std::string text;
    for (const auto& [name, entry] : before) {
        const auto now = after.find(name);
        if (now == after.end()) {
            text += name + ": is gone\n";
        } else if (now->second != entry) {
            text += name + ": " + tree_hash::what_changed(entry, now->second) + "\n";
        }
    }
    for (const auto& [name, entry] : after) {
        if (!before.contains(name)) text += name + ": is new\n";
    }
    return text;
}

/// A lock taken and released leaves a trace in its folder's modification time.
inline Tree without_times(Tree tree) {
    for (auto& [name, entry] : tree) entry.modified = 0;
    return tree;
}

/// Sets all modification times to the same moment in the past, so creating and removing a file
/// changes its folder's time even within one tick of the file system's clock.
inline void set_back_times(const std::filesystem::path& root) {
    constexpr timespec kThen{1000000000, 0};
    const std::array<timespec, 2> times{kThen, kThen};
    std::error_code ignored;
    std::vector<std::filesystem::path> paths{root};
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root, ignored)) {
        paths.push_back(entry.path());
    }
    for (const auto& path : paths) {
        struct stat status {};
        if (::lstat(path.c_str(), &status) == 0 && status.st_mtim.tv_sec == kThen.tv_sec) continue;
        ::utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
    }
}

}  // namespace tapestry::test
