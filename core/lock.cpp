#include <tapestry/core/lock.h>

#include <tapestry/core/text/shown.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = ".lock";
constexpr int kOpen = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

std::string reason(int error) { return std::generic_category().message(error); }

// ", 4711" as the holder wrote it, or nothing.
std::string holder_in(int file) {
    std::array<char, 32> text{};
    const auto length = ::pread(file, text.data(), text.size(), 0);
    const std::string_view words(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    const std::string_view digits = words.substr(0, words.find_first_not_of("0123456789"));
    return digits.empty() ? "" : fmt::format(", {}", digits);
}

// Zeros are what a loss of power may leave.
constexpr std::string_view kMayHold("0123456789\n\0", 12);

// A lock's file holds a number, or nothing yet. What else has its name stays as it is: another
// program's file, or one that has a second name elsewhere, which would be written to as well.
void check_is_lock(const fs::path& path, int file) {
    struct stat status {};
    std::array<char, 32> text{};
    const bool plain =
        ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink <= 1;
    const auto length = plain ? ::pread(file, text.data(), text.size(), 0) : -1;
    const std::string_view words(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    require<IoError>(length >= 0 && words.size() < text.size() &&
                         words.find_first_not_of(kMayHold) == words.npos,
                     "{}: not a lock that Tapestry wrote, and in its place; move it away",
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
    // Only whoever is kept out misses it.
    [[maybe_unused]] const auto done = ::pwrite(file, text.data(), text.size(), 0);
    [[maybe_unused]] const auto cut = ::ftruncate(file, static_cast<off_t>(text.size()));
}

// The locked file, or -1 where there are no locks.
int lock(const fs::path& path) {
    for (;;) {
        FileDescriptor file(::open(path.c_str(), kOpen, 0666));
        const int failure = errno;
        require<IoError>(file.is_open(), "cannot write {}: {}", shown(path), reason(failure));
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
    : path_(fs::absolute(directory) / kName), file_(lock(path_)) {}

DirectoryLock::~DirectoryLock() {
    if (is_held()) ::unlink(path_.c_str());  // and then unlocked, by closing it
}

}  // namespace tapestry
