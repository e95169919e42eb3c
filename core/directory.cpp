#include <tapestry/core/directory.h>

#include <tapestry/core/error.h>
#include <tapestry/core/system_call.h>
#include <tapestry/core/text/shown.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

namespace tapestry {

namespace fs = std::filesystem;

namespace {

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

std::shared_ptr<FileDescriptor> opened(const fs::path& path) {
    const int number = uninterrupted([&] { return ::open(path.c_str(), kOpenDirectory); });
    const int error = errno;  // before anything is allocated, which may set it
    if (number < 0) fail_to("open", shown(path), error);
    return std::make_shared<FileDescriptor>(number);
}

}  // namespace

std::vector<std::string> names_in(const fs::path& directory, std::error_code& error) {
    struct Close {
        void operator()(DIR* opened) const { ::closedir(opened); }
    };
    errno = 0;
    const std::unique_ptr<DIR, Close> opened(::opendir(directory.c_str()));
    std::vector<std::string> names;
    while (opened) {
        errno = 0;  // by which the end is told from an error
        const dirent* const entry = ::readdir(opened.get());
        if (entry == nullptr) break;
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
    }
    error.assign(errno, std::generic_category());
    return names;
}

std::vector<std::string> names_in(const fs::path& directory) {
    std::error_code ignored;
    return names_in(directory, ignored);
}

bool is_there(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    require<IoError>(fs::status_known(status), "cannot read {}: {}", shown(path), error.message());
    return fs::exists(status);
}

void remove_tree(const fs::path& path) {
    std::error_code ignored;
    if (fs::is_directory(fs::symlink_status(path, ignored))) {
        for (const std::string& name : names_in(path)) remove_tree(path / name);
    }
    fs::remove(path, ignored);
}

Folder::Folder(fs::path path) : path_(std::move(path)), descriptor_(opened(path_)) {}

Folder::Folder(fs::path path, std::shared_ptr<FileDescriptor> descriptor)
    : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

std::optional<Folder> Folder::find(const std::string& name) const {
    const int here = descriptor_->number();
    const int number =
        uninterrupted([&] { return ::openat(here, name.c_str(), kOpenDirectory | O_NOFOLLOW); });
    const int error = errno;
    if (number >= 0) return Folder(path_ / name, std::make_shared<FileDescriptor>(number));
    if (error == ENOENT) return std::nullopt;
    // ENOTDIR is what O_DIRECTORY has for a link.
    require<PlaceTakenError>(
        error != ELOOP && error != ENOTDIR,
        "cannot write into {}: it is a link or a file, and must be a directory (link or "
        "mount the directory above it instead)",
        shown(path_ / name));
    fail_to("open", shown(path_ / name), error);
}

bool Folder::has(const std::string& name) const {
    struct stat status {};
    const int here = descriptor_->number();
    if (::fstatat(here, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return true;
    const int error = errno;
    if (error != ENOENT) fail_to("read", shown(path_ / name), error);
    return false;
}

std::optional<Folder::Identity> Folder::identity(const std::string& name) const {
    struct stat s {};
    const int result = ::fstatat(descriptor_->number(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW);
    const int error = errno;
    if (result != 0 && error != ENOENT) fail_to("read", shown(path_ / name), error);
    if (result != 0 || !S_ISREG(s.st_mode)) return std::nullopt;
    return Identity{s.st_dev, s.st_ino, static_cast<std::uint64_t>(s.st_size), s.st_ctim.tv_sec,
                    s.st_ctim.tv_nsec};
}

std::optional<FileDigest> Folder::digest(const std::string& name, std::uint64_t most) const {
    if (!identity(name)) return std::nullopt;
    return digest_of(InputFile(path_ / name, descriptor_->number(), name), most);
}

Folder Folder::make(const std::string& name) const {
    if (auto found = find(name)) return *std::move(found);
    const int here = descriptor_->number();
    const int result = uninterrupted([&] { return ::mkdirat(here, name.c_str(), 0777); });
    const int error = errno;
    if (result != 0 && error != EEXIST) fail_to("write", shown(path_ / name), error);
    sync();
    auto made = find(name);
    require<IoError>(made.has_value(), "cannot write {}: it is gone again", shown(path_ / name));
    return *std::move(made);
}

bool Folder::rename(const std::string& from, const Folder& folder, const std::string& to) const {
    const int here = descriptor_->number(), there = folder.descriptor_->number();
    const int result =
        uninterrupted([&] { return ::renameat(here, from.c_str(), there, to.c_str()); });
    const int error = errno;
    if (result == 0) return true;
    if (error != ENOENT) fail_to("write", shown(folder.path_ / to), error);
    return false;
}

void Folder::remove(const std::string& name) const {
    const int here = descriptor_->number();
    if (::unlinkat(here, name.c_str(), 0) != 0 && errno == EISDIR) {
        ::unlinkat(here, name.c_str(), AT_REMOVEDIR);
    }
}

void Folder::sync() const {
    const int result = uninterrupted([this] { return ::fsync(descriptor_->number()); });
    const int error = errno;
    // EINVAL: a file system that has nothing to be synced.
    if (result != 0 && error != EINVAL) fail_to("write", shown(path_), error);
}

}  // namespace tapestry
