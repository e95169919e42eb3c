// Replacements for a regular file that are not regular files.
#pragma once

#include <tapestry/tests/core/scratch.h>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

namespace tapestry::test {

/// Puts something at a path, replacing what was there.
using Replacement = std::function<void(const std::filesystem::path&)>;

inline Replacement link_to(const std::filesystem::path& target) {
    return [target](const auto& at) { std::filesystem::create_symlink(target, at); };
}

inline Replacement hard_link_to(const std::filesystem::path& target) {
    return [target](const auto& at) { std::filesystem::create_hard_link(target, at); };
}

inline Replacement contents(const std::string& text) {
    return [text](const auto& at) { spill(at, text); };
}

/// Without a writer: opening it blocks.
inline void a_fifo(const std::filesystem::path& at) { ::mkfifo(at.c_str(), 0666); }

inline void a_folder(const std::filesystem::path& at) { std::filesystem::create_directory(at); }

inline void a_socket(const std::filesystem::path& at) { ::mknod(at.c_str(), S_IFSOCK | 0666, 0); }

/// Endless, like /dev/zero; an empty file if only root may create devices.
inline void a_device(const std::filesystem::path& at) {
    if (::mknod(at.c_str(), S_IFCHR | 0666, makedev(1, 5)) != 0) spill(at, "");
}

/// A sparse file of a terabyte.
inline void a_huge_file(const std::filesystem::path& at) {
    spill(at, "");
    [[maybe_unused]] const int failed = ::truncate(at.c_str(), off_t{1} << 40);
}

/// A file that only root can read.
inline void an_unreadable_file(const std::filesystem::path& at) {
    spill(at, "secret");
    std::filesystem::permissions(at, std::filesystem::perms(0));
}

inline void put(const std::filesystem::path& at, const Replacement& replacement) {
    std::filesystem::remove_all(at);
    std::filesystem::create_directories(at.parent_path());
    replacement(at);
}

}  // namespace tapestry::test
