// Files, with every return code looked at: a whole file in, and a whole file out, either complete
// or not at all. Read next: nn/io/safetensors.h, a format on top.
//
// The order of the writer (temporary in the same directory, write, fsync, rename, fsync of the
// directory) is the one that survives a crash at any point: rename replaces a name atomically, and
// only what was synced before it is sure to be behind the new name.
#pragma once

#include <tapestry/core/checksum.h>
#include <tapestry/core/error.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tapestry {

/// No room is left on the disk, or none that this user may take: more may come.
class DiskFullError : public IoError {
public:
    using IoError::IoError;
};

/// An open file of the operating system, closed at the end of its scope.
class FileDescriptor {
public:
    explicit FileDescriptor(int number = -1) : number_(number) {}
    ~FileDescriptor();
    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;

    int number() const { return number_; }
    bool is_open() const { return number_ >= 0; }
    /// The number, which is the caller's to close from now on.
    int release() { return std::exchange(number_, -1); }

    /// 0, or the errno of close(): some file systems report a failed write only then.
    int close();

private:
    int number_;
};

/// A regular file, read from the start. Every failure is an IoError with path and reason.
class InputFile {
public:
    /// Throws when the file is missing, unreadable, or no regular file (a directory, a pipe).
    explicit InputFile(const std::filesystem::path& path);
    /// The entry `name` of an open directory, and never through a link; `path` is for messages.
    InputFile(const std::filesystem::path& path, int directory, const std::string& name);

    const std::filesystem::path& path() const { return path_; }
    std::uint64_t size() const { return size_; }  ///< in bytes, when it was opened

    /// Fills `to` with the bytes that follow. Throws when the file ends before that.
    void read(std::span<std::byte> to);

    /// Leaves out the bytes that follow.
    void skip(std::uint64_t bytes);

private:
    InputFile(const std::filesystem::path& path, int descriptor);

    std::filesystem::path path_;
    FileDescriptor file_;
    std::uint64_t size_ = 0;
};

inline constexpr std::uint64_t kMaxWholeFile = std::uint64_t{1} << 31;

/// The bytes of a regular file. Throws IoError as InputFile does, and when it is larger than
/// `max_bytes`: asked before any memory is.
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes = kMaxWholeFile);

/// What the function passed to write_file_atomically writes to.
class OutputFile {
public:
    /// For write_file_atomically: `target` is how messages show the path.
    OutputFile(const std::string& target, int descriptor, bool past_cache = false)
        : target_(target), descriptor_(descriptor), past_cache_(past_cache) {}

    /// Appends. Throws IoError when the bytes cannot all be written (disk full, size limit).
    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

    /// Writes what is still held back for a whole block; the last thing to be done past the cache.
    /// Throws as write() does.
    void finish();

    /// Of all that was written.
    FileDigest digest() const { return {bytes_, checksum_.hex()}; }

private:
    struct Free {
        void operator()(std::byte* block) const { std::free(block); }
    };

    enum class Direct { untried, on, off };  // O_DIRECT

    void hold_back(std::span<const std::byte> bytes);
    void put(std::span<const std::byte> bytes);
    bool set_direct(bool on);

    const std::string& target_;
    int descriptor_;
    bool past_cache_;
    Direct direct_ = Direct::untried;
    std::unique_ptr<std::byte[], Free> block_;  // what is held back
    std::size_t held_ = 0;
    std::uint64_t bytes_ = 0;
    Checksum checksum_;
};

struct WriteOptions {
    /// Whether to wait until it is on the disk, which may take seconds. If not, a crash of the
    /// machine (not of the program) may leave an empty file.
    bool sync = true;
    /// Whether a large file goes straight to the disk, where the file system lets it: a third of
    /// the processor's time, and what others have in the page cache stays. For what nobody reads
    /// soon.
    bool past_cache = false;
    /// Another file, whose place this one is to take later: it is that one's permissions that are
    /// kept, and that one that must be a file which may be written. Empty: there is none.
    std::filesystem::path stands_for = {};
    /// The permissions of a new file, within the umask.
    unsigned permissions = 0666;
    /// Whether the directory that the file lies in may be a link.
    bool through_link = true;
};

/// Writes what `write` writes to a temporary file beside `path`, then renames it to `path`. After
/// any failure, `write`'s own exceptions included, the temporary is gone and a previous file at
/// `path` is what it was; only the last step, the sync of the directory, fails with the new file
/// already in place. Throws IoError saying which step failed and why; also when `path` is a
/// directory, a device or a pipe, or a file that may not be written: rename alone would not ask.
/// A symbolic link to a file is replaced by the file. The permissions of a previous file are kept,
/// within the umask. Returns what was written.
///
/// A process beyond its file size limit (RLIMIT_FSIZE) is killed by SIGXFSZ unless it ignores that
/// signal; then this is an error as any other.
FileDigest write_file_atomically(const std::filesystem::path& path,
                                 const std::function<void(OutputFile&)>& write,
                                 const WriteOptions& options = {});
FileDigest write_file_atomically(const std::filesystem::path& path, std::string_view contents,
                                 const WriteOptions& options = {});

/// Makes the directory, and those it lies in, unless it is there. Throws IoError.
void make_directories(const std::filesystem::path& directory);

/// Throws IoError unless there is no file at `path` or one that write_file_atomically would
/// replace.
void check_replaceable(const std::filesystem::path& path);

/// Throws IoError unless a file of so many bytes has room in the directory, DiskFullError if that
/// is why. A file system that cannot tell is believed to have room.
void check_room(const std::filesystem::path& directory, std::uint64_t bytes);

/// Waits until the names in a directory are on the disk: those that were made, and those that are
/// gone. Throws IoError.
void sync_directory(const std::filesystem::path& directory);

/// Removes what write_file_atomically left in the directory in processes of this machine that were
/// killed. What cannot be removed stays.
void remove_stale_temporaries(const std::filesystem::path& directory);

}  // namespace tapestry
