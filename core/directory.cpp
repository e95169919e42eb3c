#include <tapestry/core/directory.h>

#include <tapestry/core/error.h>
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

[[noreturn]] void fail_to(const char* verb, const fs::path& path, int error) {
    fail<IoError>("cannot {} {}: {}", verb, shown(path), std::generic_category().message(error));
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

Folder::Folder(fs::path path) : Folder(path, ::open(path.c_str(), kOpenDirectory)) {}

Folder::Folder(fs::path path, int descriptor)
    : path_(std::move(path)), descriptor_(std::make_shared<FileDescriptor>(descriptor)) {
    if (descriptor < 0) fail_to("open", path_, errno);
}

std::optional<Folder> Folder::find(const std::string& name) const {
    const int found = ::openat(descriptor_->number(), name.c_str(), kOpenDirectory | O_NOFOLLOW);
    if (found >= 0) return Folder(path_ / name, found);
    if (errno == ENOENT) return std::nullopt;
    // ENOTDIR is what O_DIRECTORY has for a link.
    require<IoError>(errno != ELOOP && errno != ENOTDIR,
                     "cannot write into {}: it is a link or a file, and must be a directory",
                     shown(path_ / name));
    fail_to("open", path_ / name, errno);
}

bool Folder::has(const std::string& name) const {
    struct stat status {};
    if (::fstatat(descriptor_->number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
        return true;
    if (errno != ENOENT) fail_to("read", path_ / name, errno);
    return false;
}

std::optional<Folder::Identity> Folder::identity(const std::string& name) const {
    struct stat s {};
    const int result = ::fstatat(descriptor_->number(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW);
    if (result != 0 || !S_ISREG(s.st_mode)) return std::nullopt;
    return Identity{s.st_dev, s.st_ino, static_cast<std::uint64_t>(s.st_size), s.st_ctim.tv_sec,
                    s.st_ctim.tv_nsec};
}

std::optional<FileDigest> Folder::digest(const std::string& name, std::uint64_t most) const {
    try {
        return digest_of(InputFile(path_ / name, descriptor_->number(), name), most);
    } catch (const IoError&) {
        return std::nullopt;
    }
}

Folder Folder::make(const std::string& name) const {
    if (auto found = find(name)) return *std::move(found);
    if (::mkdirat(descriptor_->number(), name.c_str(), 0777) != 0 && errno != EEXIST) {
        fail_to("write", path_ / name, errno);
    }
    sync();
    auto made = find(name);
    require<IoError>(made.has_value(), "cannot write {}: it is gone again", shown(path_ / name));
    return *std::move(made);
}

bool Folder::rename(const std::string& from, const Folder& folder, const std::string& to) const {
    const int result =
        ::renameat(descriptor_->number(), from.c_str(), folder.descriptor_->number(), to.c_str());
    if (result == 0) return true;
    if (errno != ENOENT) fail_to("write", folder.path_ / to, errno);
    return false;
}

void Folder::remove(const std::string& name) const {
    const int here = descriptor_->number();
    if (::unlinkat(here, name.c_str(), 0) != 0 && errno == EISDIR) {
        ::unlinkat(here, name.c_str(), AT_REMOVEDIR);
    }
}

void Folder::sync() const {
    int result = ::fsync(descriptor_->number());
    while (result != 0 && errno == EINTR) result = ::fsync(descriptor_->number());
    // EINVAL: a file system that has nothing to be synced.
    if (result != 0 && errno != EINVAL) fail_to("write", path_, errno);
}

}  // namespace tapestry
