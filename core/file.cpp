// POSIX calls and the results that each of them may return. All steps of a save are relative to one
// open directory, so neither chdir nor a renamed parent can split it over two places.
#include <tapestry/core/file.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/system_call.h>
#include <tapestry/core/text/message.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

// Linux moves at most 2^31 - 4096 bytes in one call; less is no slower.
constexpr std::size_t kMaxCall = std::size_t{1} << 30;

// Past the page cache: alignment to a page, a multiple of any disk's block size, and large blocks
// for few calls.
constexpr std::size_t kPage = 4096, kBlock = std::size_t{1} << 20;

// Of temporaries, around the process ID: ".tapestry-4711-0.tmp".
constexpr std::string_view kPrefix = ".tapestry-", kSuffix = ".tmp";

std::string_view kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISSOCK(mode)) return "a socket";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    return "a special file";
}

/// The unfinished file: removed when it goes out of scope, unless it was renamed before.
class Temporary {
public:
    /// is_open() is false if it could not be created; errno has the reason.
    Temporary(int directory, mode_t mode)
        : directory_(directory), file_(create(mode)), exists_(file_.is_open()) {}
    ~Temporary() {
        // A failure cannot be reported here; the name shows what the file is.
        if (exists_) ::unlinkat(directory_, name_.c_str(), 0);
        if (kept_ >= 0) ::close(kept_);
    }
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;

    bool is_open() const { return file_.is_open(); }
    int number() const { return file_.number(); }
    // The lock stays until the file has its name or is gone.
    int close() {
        kept_ = ::fcntl(file_.number(), F_DUPFD_CLOEXEC, 0);
        return file_.close();
    }
    int rename_to(const std::string& name) {
        if (::renameat(directory_, name_.c_str(), directory_, name.c_str()) != 0) return errno;
        exists_ = false;
        return 0;
    }

private:
    // The name does not contain the final one, which may have the maximum length. It already exists
    // only if a save was killed, or if another machine writes to the same disk.
    int create(mode_t mode) {
        static std::atomic<unsigned> counter{0};
        int result = -1;
        for (int attempt = 0; attempt < 100; ++attempt) {
            name_ = fmt::format("{}{}-{}{}", kPrefix, ::getpid(), counter++, kSuffix);
            result = uninterrupted([&] {
                return ::openat(directory_, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                mode);
            });
            if (result >= 0 && !is_locked(result)) {  // taken for stale in between
                ::close(std::exchange(result, -1));
                errno = EEXIST;
                continue;
            }
            if (result >= 0 || errno != EEXIST) break;
        }
        return result;
    }

    // A lock on an unfinished file tells all processes, also those in other containers, that it is
    // in use. False if one that saw it before the lock has removed it, or is about to.
    static bool is_locked(int file) {
        if (::flock(file, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;  // no locks here
        struct stat status {};
        return ::fstat(file, &status) != 0 || status.st_nlink > 0;
    }

    int directory_;
    std::string name_;
    FileDescriptor file_;
    int kept_ = -1;  // the lock's, after close()
    bool exists_;
};

/// The permissions to create the file with, `fresh` for a new one; refuses to replace anything but
/// a regular file.
mode_t mode_for(int directory, const fs::path& name, const std::string& target,
                mode_t fresh = 0666) {
    struct stat status {};
    if (::fstatat(directory, name.c_str(), &status, 0) != 0) {
        if (errno == ENOENT || errno == ELOOP) return fresh;  // ELOOP: rename replaces the link
        fail_to("write", target, errno);
    }
    require<IoError>(S_ISREG(status.st_mode), "cannot write {}: it is {}, not a file", target,
                     kind_of(status.st_mode));
    if (::faccessat(directory, name.c_str(), W_OK, AT_EACCESS) != 0) {
        fail_to("write", target, errno);
    }
    return status.st_mode & 0777;
}

int open_directory(const fs::path& path, int flags = 0) {
    return uninterrupted(
        [&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags); });
}

void sync(int descriptor, const std::string& target) {
    const int result = uninterrupted([&] { return ::fsync(descriptor); });
    // EINVAL: the file system cannot sync this kind of file; nothing more can be done.
    if (result != 0 && errno != EINVAL) fail_to("write", target, errno);
}

}  // namespace

FileDescriptor::~FileDescriptor() {
    if (is_open()) ::close(number_);
}

int FileDescriptor::close() {
    const int result = ::close(std::exchange(number_, -1));
    return result == 0 || errno == EINTR ? 0 : errno;  // EINTR: Linux has closed it nevertheless
}

// O_NONBLOCK: opening a pipe must not wait for a writer. Regular files ignore it.
constexpr int kOpenToRead = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

InputFile::InputFile(const fs::path& path)
    : InputFile(path, uninterrupted([&] { return ::open(path.c_str(), kOpenToRead); })) {}

InputFile::InputFile(const fs::path& path, int directory, const std::string& name)
    : InputFile(path, uninterrupted([&] {
                    return ::openat(directory, name.c_str(), kOpenToRead | O_NOFOLLOW);
                })) {}

InputFile::InputFile(const fs::path& path, int descriptor) : path_(path), file_(descriptor) {
    struct stat status {};
    if (!file_.is_open() || ::fstat(file_.number(), &status) != 0) {
        const int error = errno;
        fail_to("read", shown(path), error);
    }
    require<IoError>(S_ISREG(status.st_mode), "cannot read {}: it is {}, not a file", shown(path),
                     kind_of(status.st_mode));
    size_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(std::span<std::byte> to) {
    while (!to.empty()) {
        const std::size_t wanted = std::min(to.size(), kMaxCall);
        const auto got = uninterrupted([&] { return ::read(file_.number(), to.data(), wanted); });
        if (got < 0) {
            const int error = errno;
            fail_to("read", shown(path_), error);
        }
        if (got == 0) {
            fail<IoError>("cannot read {}: it ends {} bytes too early (changed meanwhile?)",
                          shown(path_), to.size());
        }
        to = to.subspan(static_cast<std::size_t>(got));
    }
}

void InputFile::skip(std::uint64_t bytes) {
    if (::lseek(file_.number(), static_cast<off_t>(bytes), SEEK_CUR) < 0) {
        const int error = errno;
        fail_to("read", shown(path_), error);
    }
}

std::string read_file(const fs::path& path, std::uint64_t max_bytes) {
    InputFile file(path);
    require<IoError>(file.size() <= max_bytes, "cannot read {}: {} bytes, more than the {} allowed",
                     shown(path), file.size(), max_bytes);
    std::string contents(static_cast<std::size_t>(file.size()), '\0');
    file.read(std::as_writable_bytes(std::span(contents)));
    return contents;
}

void OutputFile::write(std::span<const std::byte> bytes) {
    past_cache_ ? hold_back(bytes) : put(bytes);
    checksum_.add(bytes);
    bytes_ += bytes.size();
}

// Writes past the cache take whole blocks, from aligned memory to aligned offsets.
void OutputFile::hold_back(std::span<const std::byte> bytes) {
    if (!block_) {
        block_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, kBlock)));
        past_cache_ = block_ != nullptr;
        if (!past_cache_) return put(bytes);
    }
    while (!bytes.empty()) {
        const std::size_t some = std::min(bytes.size(), kBlock - held_);
        std::copy_n(bytes.begin(), some, block_.get() + held_);
        held_ += some;
        bytes = bytes.subspan(some);
        if (held_ < kBlock) continue;
        if (direct_ == Direct::untried) set_direct(true);
        put({block_.get(), std::exchange(held_, 0)});
    }
}

void OutputFile::finish() {
    if (direct_ == Direct::on) set_direct(false);
    put({block_.get(), std::exchange(held_, 0)});
}

bool OutputFile::set_direct(bool on) {
    const int flags = ::fcntl(descriptor_, F_GETFL);
    const int wanted = on ? flags | O_DIRECT : flags & ~O_DIRECT;
    const bool done = flags >= 0 && ::fcntl(descriptor_, F_SETFL, wanted) == 0;
    if (done || on) direct_ = done && on ? Direct::on : Direct::off;
    return done;
}

void OutputFile::put(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const std::size_t wanted = std::min(bytes.size(), kMaxCall);
        const auto done = uninterrupted([&] { return ::write(descriptor_, bytes.data(), wanted); });
        if (done < 0 && errno == EINVAL && direct_ == Direct::on) {
            // The disk has other block sizes, or it wrote only part of the last block.
            if (set_direct(false)) continue;
            errno = EINVAL;
        }
        if (done < 0) fail_to("write", target_, errno);
        if (done == 0) fail_to("write", target_, ENOSPC);  // no progress, no error
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
}

FileDigest write_file_atomically(const fs::path& path,
                                 const std::function<void(OutputFile&)>& write,
                                 const WriteOptions& options) {
    const std::string target = shown(path);
    const std::string name = path.filename().native();
    require<IoError>(!name.empty() && name != "." && name != "..",
                     "cannot write {}: the path does not name a file", target);
    const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
    const auto check_directory = [&](bool good) {
        const int error = errno;
        if (!good) fail_to("write", fmt::format("{}: directory {}", target, shown(parent)), error);
    };
    const FileDescriptor directory(open_directory(parent, options.through_link ? 0 : O_NOFOLLOW));
    check_directory(directory.is_open());
    const fs::path& stands_for = options.stands_for;
    const mode_t mode =
        stands_for.empty() ? mode_for(directory.number(), name, target, options.permissions)
                           : mode_for(AT_FDCWD, stands_for, shown(stands_for), options.permissions);
    Temporary temporary(directory.number(), mode);
    check_directory(temporary.is_open());

    OutputFile output(target, temporary.number(), options.past_cache);
    write(output);
    output.finish();
    if (options.sync) sync(temporary.number(), target);
    if (const int error = temporary.close()) fail_to("write", target, error);
    if (const int error = temporary.rename_to(name)) fail_to("write", target, error);
    if (options.sync) sync(directory.number(), target);
    return output.digest();
}

FileDigest write_file_atomically(const fs::path& path, std::string_view contents,
                                 const WriteOptions& options) {
    return write_file_atomically(
        path, [contents](OutputFile& file) { file.write(contents); }, options);
}

void make_directories(const fs::path& directory) {
    std::error_code error;
    fs::create_directories(directory, error);
    // Throws if that is why.
    if (error && !directory.empty()) static_cast<void>(absolute_path(directory));
    fs::path part;
    for (const fs::path& name : error == std::errc::file_exists ? directory : fs::path()) {
        std::error_code other;
        const fs::path to = fs::read_symlink(part /= name, other);
        require<IoError>(other || fs::exists(part, other),
                         "cannot create directory {}: {} is a link to {}, which does not exist",
                         shown(directory), shown(part), shown(to));
    }
    require<IoError>(!error && fs::is_directory(directory), "cannot create directory {}: {}",
                     shown(directory), error ? error.message() : "a file with that name exists");
}

void check_replaceable(const fs::path& path) { mode_for(AT_FDCWD, path, shown(path)); }

void check_room(const fs::path& directory, std::uint64_t bytes) {
    const std::string target = shown(directory);
    const FileDescriptor there(open_directory(directory));
    const Temporary temporary(there.number(), 0666);
    if (!temporary.is_open()) fail_to("write", target, errno);
    const int result = uninterrupted(
        [&] { return ::fallocate(temporary.number(), 0, 0, static_cast<off_t>(bytes)); });
    const int error = result == 0 ? 0 : errno;
    // EOPNOTSUPP: the file system cannot reserve space.
    if (bytes > 0 && error != 0 && error != EOPNOTSUPP) {
        fail_to("write", fmt::format("{} bytes in {}", bytes, target), error);
    }
}

void sync_directory(const fs::path& path) {
    const FileDescriptor directory(open_directory(path));
    const int error = errno;
    if (!directory.is_open()) fail_to("write", fmt::format("directory {}", shown(path)), error);
    sync(directory.number(), fmt::format("directory {}", shown(path)));
}

namespace {

// Removes the file unless a process is still writing it, and so has it locked. On a file system
// without locks: if the process in its name has ended.
void remove_if_stale(int directory, const std::string& name, pid_t process) {
    const FileDescriptor file(
        ::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (!file.is_open() || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    // Whoever has created it but not locked it yet will notice that it is gone.
    const bool is_free = ::flock(file.number(), LOCK_EX | LOCK_NB) == 0;
    if (!is_free && errno == EWOULDBLOCK) return;
    const bool has_ended = ::kill(process, 0) != 0 && errno == ESRCH;
    if (is_free || has_ended) ::unlinkat(directory, name.c_str(), 0);
}

// The process ID in ".tapestry-4711-0.tmp"; nullopt for any other name.
std::optional<pid_t> process_of_temporary(std::string_view name) {
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
    const char* const end = name.data() + name.size() - kSuffix.size();
    pid_t process = 0;
    unsigned count = 0;
    const auto first = std::from_chars(name.data() + kPrefix.size(), end, process);
    if (first.ec != std::errc{} || process <= 0 || first.ptr == end || *first.ptr != '-') return {};
    const auto second = std::from_chars(first.ptr + 1, end, count);
    if (second.ec != std::errc{} || second.ptr != end) return std::nullopt;
    return process;
}

}  // namespace

void remove_stale_temporaries(const fs::path& directory) {
    const FileDescriptor there(open_directory(directory));
    if (!there.is_open()) return;
    for (const std::string& name : names_in(directory)) {
        const auto process = process_of_temporary(name);
        if (process) remove_if_stale(there.number(), name, *process);
    }
}

// ---- results -----------------------------------------------------------------------------------

namespace {

// The first bytes of the file; empty if there is no regular file, which writing reports.
std::string beginning_of(const fs::path& path, std::size_t bytes) {
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) return "";
    InputFile file(path);
    std::string beginning(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, file.size())),
                          '\0');
    file.read(std::as_writable_bytes(std::span(beginning)));
    return beginning;
}

}  // namespace

void write_result(const fs::path& path, std::string_view contents) {
    constexpr std::size_t kKind = 14;
    const std::string before = beginning_of(path, kKind);
    require<IoError>(before.empty() || before == contents.substr(0, kKind),
                     "{}: already exists and is another kind of file; choose another name",
                     shown(path));
    write_file_atomically(path, contents);
}

}  // namespace tapestry
