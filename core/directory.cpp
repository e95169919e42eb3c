#include <tapestry/core/directory.h>

#include <tapestry/core/error.h>
#include <tapestry/core/system_call.h>
#include <tapestry/core/text/message.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace tapestry {

namespace fs = std::filesystem;

namespace {

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

std::shared_ptr<FileDescriptor> opened(const fs::path& path) {
    const int number = uninterrupted([&] { return ::open(path.c_str(), kOpenDirectory); });
    const int error = errno;  // before any allocation, which may overwrite it
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
        errno = 0;  // distinguishes the end from an error
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

fs::path absolute_path(const fs::path& path) {
    require<IoError>(!path.empty(), "'' is no path");
    std::error_code error;
    fs::path whole = fs::absolute(path, error);
    require<IoError>(!error, "{}: the working directory, where it would be, was removed: {}",
                     shown(path), error.message());
    return whole;
}

bool is_read_below(const fs::path& directory, const fs::path& path) {
    std::error_code error;
    const fs::path from = fs::weakly_canonical(absolute_path(directory), error);
    if (error) return false;
    const fs::path to = fs::weakly_canonical(absolute_path(path), error);
    if (error) return false;
    const auto [rest, inside] = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
    return rest == from.end() && std::none_of(inside, to.end(), [](const fs::path& part) {
               return part.native().starts_with('.');
           });
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
    if (const auto slash = name.find('/'); slash != name.npos) {  // O_NOFOLLOW is for the last part
        const auto outer = find(name.substr(0, slash));
        return outer ? outer->find(name.substr(slash + 1)) : std::nullopt;
    }
    const int here = descriptor_->number();
    const int number =
        uninterrupted([&] { return ::openat(here, name.c_str(), kOpenDirectory | O_NOFOLLOW); });
    const int error = errno;
    if (number >= 0) return Folder(path_ / name, std::make_shared<FileDescriptor>(number));
    if (error == ENOENT) return std::nullopt;
    // O_DIRECTORY fails with ENOTDIR on a link.
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
    if (const auto slash = name.find('/'); slash != name.npos) {
        return make(name.substr(0, slash)).make(name.substr(slash + 1));
    }
    if (auto found = find(name)) return *std::move(found);
    const int here = descriptor_->number();
    const int result = uninterrupted([&] { return ::mkdirat(here, name.c_str(), 0777); });
    const int error = errno;
    if (result != 0 && error != EEXIST) fail_to("write", shown(path_ / name), error);
    sync();
    auto made = find(name);
    require<IoError>(made.has_value(), "cannot write {}: it was removed meanwhile",
                     shown(path_ / name));
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
    // EINVAL: the file system has nothing to sync.
    if (result != 0 && error != EINVAL) fail_to("write", shown(path_), error);
}

// ---- the lock -----------------------------------------------------------------------------------

namespace {

constexpr const char* kName = ".lock";
constexpr int kOpen = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

// ", 4711" as the holder wrote it, or an empty text.
std::string holder_in(int file) {
    std::array<char, 32> text{};
    const auto length = ::pread(file, text.data(), text.size(), 0);
    const std::string_view words(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    const std::string_view digits = words.substr(0, words.find_first_not_of("0123456789"));
    return digits.empty() ? "" : fmt::format(", {}", digits);
}

// A loss of power may leave zeros.
constexpr std::string_view kMayHold("0123456789\n\0", 12);

// A lock's file holds a number, or nothing yet. Any other file of that name stays untouched: it may
// be another program's, or have a second name elsewhere, which would be overwritten as well.
void check_is_lock(const fs::path& path, int file) {
    struct stat status {};
    std::array<char, 32> text{};
    const bool plain =
        ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink <= 1;
    const auto length = plain ? ::pread(file, text.data(), text.size(), 0) : -1;
    const std::string_view words(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    require<IoError>(length >= 0 && words.size() < text.size() &&
                         words.find_first_not_of(kMayHold) == words.npos,
                     "{}: not a lock file that Tapestry wrote, but in its place; move it away",
                     shown(path));
}

// Whether the path still names the open file: its last holder may have removed it since.
bool is_at(const fs::path& path, int file) {
    struct stat ours {
    }, there{};
    return ::fstat(file, &ours) == 0 && ::lstat(path.c_str(), &there) == 0 &&
           ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

void write_number(int file) {
    const std::string text = fmt::format("{}\n", ::getpid());
    // If this fails, only the error message of a process that is kept out lacks the number.
    [[maybe_unused]] const auto done = ::pwrite(file, text.data(), text.size(), 0);
    [[maybe_unused]] const auto cut = ::ftruncate(file, static_cast<off_t>(text.size()));
}

// The locked file, or -1 if the file system has no locks.
int lock(const fs::path& path) {
    for (;;) {
        FileDescriptor file(::open(path.c_str(), kOpen, 0666));
        const int failure = errno;
        if (!file.is_open()) fail_to("write", shown(path), failure);
        if (::flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
            const int error = errno;
            if (error == EINTR) continue;
            if (error != EWOULDBLOCK) return -1;  // ENOLCK, EOPNOTSUPP: no locks here
            fail<BusyError>("{}: in use by another process{}", shown(path.parent_path()),
                            holder_in(file.number()));
        }
        if (!is_at(path, file.number())) continue;
        check_is_lock(path, file.number());
        write_number(file.number());
        return file.release();
    }
}

}  // namespace

DirectoryLock::DirectoryLock(const fs::path& directory)
    : path_(absolute_path(directory) / kName), file_(lock(path_)) {}

DirectoryLock::~DirectoryLock() {
    if (is_held()) ::unlink(path_.c_str());  // closing it then unlocks it
}

}  // namespace tapestry
