// Root ignores permissions, so tests of permissions run as user `nobody` while a Nobody exists.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace tapestry::test {

class Nobody {
public:
    Nobody() {
        if (was_root_) changed_ = ::seteuid(kUser) == 0;
    }
    /// First gives that user the directory and its contents.
    explicit Nobody(const std::filesystem::path& directory) : Nobody(given(directory)) {}
    ~Nobody() {
        if (changed_ && ::seteuid(0) != 0) std::abort();
    }
    Nobody(const Nobody&) = delete;
    Nobody& operator=(const Nobody&) = delete;

    bool is_bound_by_permissions() const { return !was_root_ || changed_; }

private:
    static constexpr uid_t kUser = 65534;

    struct Given {};
    explicit Nobody(Given) : Nobody() {}

    static Given given(const std::filesystem::path& directory) {
        if (::geteuid() != 0) return {};
        const auto give = [](const std::filesystem::path& path) {
            if (::lchown(path.c_str(), kUser, kUser) != 0) std::abort();
        };
        give(directory);
        for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
            give(entry.path());
        return {};
    }

    bool was_root_ = ::geteuid() == 0;
    bool changed_ = false;
};

}  // namespace tapestry::test
