// Root ignores permissions, so tests of them run as the user `nobody` while a Nobody is in scope.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace tapestry::test {

class Nobody {
public:
    Nobody() {
        if (was_root_) changed_ = ::seteuid(kUser) == 0;
    }
    /// First gives that user the directory, with its contents.
    explicit Nobody(const std::filesystem::path& directory) {
        if (!was_root_ || !give(directory) || ::seteuid(kUser) != 0) return;
        changed_ = ::faccessat(AT_FDCWD, directory.c_str(), X_OK, AT_EACCESS) == 0;
        if (!changed_ && ::seteuid(0) != 0) std::abort();  // it cannot enter a directory above
    }
    ~Nobody() {
        if (changed_ && ::seteuid(0) != 0) std::abort();
    }
    Nobody(const Nobody&) = delete;
    Nobody& operator=(const Nobody&) = delete;

    bool is_bound_by_permissions() const { return !was_root_ || changed_; }

private:
    static constexpr uid_t kUser = 65534;

    // False in a user namespace that does not have this user.
    static bool give(const std::filesystem::path& directory) {
        if (::lchown(directory.c_str(), kUser, kUser) != 0) return false;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
            if (::lchown(entry.path().c_str(), kUser, kUser) != 0) std::abort();
        }
        return true;
    }

    bool was_root_ = ::geteuid() == 0;
    bool changed_ = false;
};

}  // namespace tapestry::test
