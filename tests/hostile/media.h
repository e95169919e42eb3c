// Mounts other file systems below a folder: a small one in memory, or a read-only bind mount. Only
// if the system allows this process to mount.
#pragma once

#include <sys/mount.h>

#include <filesystem>
#include <utility>

namespace tapestry::test {

class Mount {
public:
    ~Mount() {
        if (mounted_) ::umount2(at_.c_str(), MNT_DETACH);
    }
    Mount(Mount&& other) noexcept
        : at_(std::move(other.at_)), mounted_(std::exchange(other.mounted_, false)) {}
    Mount& operator=(Mount&&) = delete;

    /// The folder itself, read-only.
    static Mount read_only(const std::filesystem::path& at) {
        Mount mount(at);
        mount.mounted_ =
            ::mount(at.c_str(), at.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
            ::mount(nullptr, at.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
        return mount;
    }
    /// An empty file system in place of the folder's contents.
    static Mount in_memory(const std::filesystem::path& at) {
        Mount mount(at);
        mount.mounted_ = ::mount("tmpfs", at.c_str(), "tmpfs", 0, "size=4m,mode=0755") == 0;
        return mount;
    }
    explicit operator bool() const { return mounted_; }

private:
    explicit Mount(std::filesystem::path at) : at_(std::move(at)) {}

    std::filesystem::path at_;
    bool mounted_ = false;
};

}  // namespace tapestry::test
