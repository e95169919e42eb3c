// Files, with every return code checked: reads whole files, and writes them either completely or
// not at all. Read next: nn/io/safetensors.h, a format on top.
//
// The writer's order of steps (temporary in the same directory, write, fsync, rename, fsync of the
// directory) survives a crash at any point: rename replaces a name atomically, and only data synced
// before it is sure to be behind the new name.
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

/// The disk is full, or the user's quota is exhausted; space may become available later.
class DiskFullError : public IoError {
public:
    using IoError::IoError;
};

/// An open file of the operating system, closed at the end of its scope.
class FileDescriptor {
public:
    /// Takes over the open file `number`; -1: none.
    explicit FileDescriptor(int number = -1) : number_(number) {}
    ~FileDescriptor();
    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;

    int number() const { return number_; }         ///< the system's number; -1 if there is none
    bool is_open() const { return number_ >= 0; }  ///< whether there is an open file
    /// Releases the number; the caller must close it.
    int release() { return std::exchange(number_, -1); }

    /// 0, or the errno of close(): some file systems report a failed write only then.
    int close();

private:
    int number_;
};

/// A regular file, read from the start. Every failure is an IoError with path and reason.
class InputFile {
public:
    /// Throws if the file is missing, unreadable, or not a regular file (a directory, a pipe).
    explicit InputFile(const std::filesystem::path& path);
    /// The entry `name` of an open directory; does not follow links. `path` is for messages.
    InputFile(const std::filesystem::path& path, int directory, const std::string& name);

    /// The path given to the constructor.
    const std::filesystem::path& path() const { return path_; }
    std::uint64_t size() const { return size_; }  ///< in bytes, when it was opened

    /// Fills `to` with the bytes that follow. Throws if the file ends before that.
    void read(std::span<std::byte> to);

    /// Skips the next `bytes` bytes.
    void skip(std::uint64_t bytes);

private:
    InputFile(const std::filesystem::path& path, int descriptor);

    std::filesystem::path path_;
    FileDescriptor file_;
    std::uint64_t size_ = 0;
};

/// The largest file that read_file() reads by default: 2 GiB.
inline constexpr std::uint64_t kMaxWholeFile = std::uint64_t{1} << 31;

/// The bytes of a regular file. Throws IoError as InputFile does, and if the file is larger than
/// `max_bytes`, which is checked before any memory is allocated.
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes = kMaxWholeFile);

/// The argument of the function passed to write_file_atomically.
class OutputFile {
public:
    /// For write_file_atomically: `target` is the path as messages show it.
    OutputFile(const std::string& target, int descriptor, bool past_cache = false)
        : target_(target), descriptor_(descriptor), past_cache_(past_cache) {}

    /// Appends. Throws IoError if the bytes cannot all be written (disk full, size limit).
    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

    /// Writes what is still held back for a whole block; the last write past the cache. Throws as
    /// write() does.
    void finish();

    /// The digest of everything written.
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
    std::unique_ptr<std::byte[], Free> block_;  // bytes held back
    std::size_t held_ = 0;
    std::uint64_t bytes_ = 0;
    Checksum checksum_;
};

/// How write_file_atomically() writes.
struct WriteOptions {
    /// Whether to wait until the file is on the disk, which may take seconds. Without it, a crash
    /// of the machine (not of the program) may leave an empty file.
    bool sync = true;
    /// Whether to write a large file straight to the disk, if the file system supports that: takes
    /// a third of the processor time and leaves other data in the page cache. For files that will
    /// not be read soon.
    bool past_cache = false;
    /// Another file that this one will replace later: its permissions are kept, and it must be a
    /// writable file. Empty: none.
    std::filesystem::path stands_for = {};
    /// The permissions of a new file, within the umask.
    unsigned permissions = 0666;
    /// Whether the directory that contains the file may be a link.
    bool through_link = true;
};

/// Writes what `write` writes to a temporary file next to `path`, then renames it to `path`. After
/// any failure, including `write`'s own exceptions, the temporary is gone and a previous file at
/// `path` is unchanged; only the last step, the sync of the directory, fails with the new file
/// already in place. Throws IoError with the step that failed and the reason; also if `path` is a
/// directory, a device or a pipe, or a file that is not writable, which rename does not check. A
/// symbolic link to a file is replaced by the file. The permissions of a previous file are kept,
/// within the umask. Returns the digest of what was written.
///
/// A process beyond its file size limit (RLIMIT_FSIZE) is killed by SIGXFSZ unless it ignores that
/// signal; then this throws as for any other error.
FileDigest write_file_atomically(const std::filesystem::path& path,
                                 const std::function<void(OutputFile&)>& write,
                                 const WriteOptions& options = {});
FileDigest write_file_atomically(const std::filesystem::path& path, std::string_view contents,
                                 const WriteOptions& options = {});

/// Writes a result to a file that the user named (a page, a picture), where a mistaken name must
/// not cost a model or a text: writes as write_file_atomically does, but replaces only an empty
/// file or an earlier result of the same kind: one with the same first 14 bytes ("<!doctype html").
/// Throws IoError, leaving any other file as it is.
void write_result(const std::filesystem::path& path, std::string_view contents);

/// Creates the directory and its parents where they are missing. Throws IoError.
void make_directories(const std::filesystem::path& directory);

/// Throws IoError unless there is no file at `path`, or one that write_file_atomically would
/// replace.
void check_replaceable(const std::filesystem::path& path);

/// Throws IoError unless a file of `bytes` bytes fits into the directory, DiskFullError if space is
/// the reason. A file system that cannot reserve space is assumed to have room.
void check_room(const std::filesystem::path& directory, std::uint64_t bytes);

/// Waits until the creation and removal of entries in a directory are on the disk. Throws IoError.
void sync_directory(const std::filesystem::path& directory);

/// Removes temporaries that killed processes left in the directory: those that are not locked.
/// Without locks on the file system, those of this machine's processes. Those that cannot be
/// removed stay.
void remove_stale_temporaries(const std::filesystem::path& directory);

}  // namespace tapestry
