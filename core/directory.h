// Directory listings, a directory held open, and a directory lock. Read next: file.h;
// nn/train/run_directory.h, which is locked.
#pragma once

#include <tapestry/core/checksum.h>
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace tapestry {

/// The names in a directory except "." and "..", in no particular order; as many as can be read,
/// with `error` set if reading stopped early. (std::filesystem's iterators, and so its
/// remove_all(), terminate the process if there is no memory for the next path.)
std::vector<std::string> names_in(const std::filesystem::path& directory, std::error_code& error);

/// Ignores errors: empty if there is no such directory.
std::vector<std::string> names_in(const std::filesystem::path& directory);

/// Whether `path` exists, following links. Throws IoError if that cannot be determined: assuming
/// that nothing is there might cost the user the existing data.
bool is_there(const std::filesystem::path& path);

/// `path`, absolute. Throws IoError if it is empty, or relative and the working directory was
/// removed.
std::filesystem::path absolute_path(const std::filesystem::path& path);

/// Whether a reader of all files below `directory`, but for names that begin with a dot, would find
/// `path`, which need not exist. False if that cannot be determined: opening either gives the
/// reason.
bool is_read_below(const std::filesystem::path& directory, const std::filesystem::path& path);

/// Removes a file, a link, or a directory with all its contents. Entries that cannot be removed
/// stay.
void remove_tree(const std::filesystem::path& path);

/// A file or folder cannot be written because something else has its name; that one stays.
class PlaceTakenError : public IoError {
public:
    using IoError::IoError;
};

/// A directory held open to change its contents. Names are plain names of its own entries, looked
/// up relative to its descriptor, and links are never followed: nothing outside the directory
/// changes, no matter which links others have put there.
class Folder {
public:
    /// Opens the directory at `path`. The path comes from the user, so a link is followed here.
    /// Throws IoError.
    explicit Folder(std::filesystem::path path);

    /// The folder `name` in it, "best" or "best/adapter", or nullopt if there is none. Throws
    /// PlaceTakenError if a link or a file has a part's name, IoError if it cannot be opened.
    std::optional<Folder> find(const std::string& name) const;

    /// For messages.
    const std::filesystem::path& path() const { return path_; }

    /// Whether there is an entry of this name, including a broken link. Throws IoError if that
    /// cannot be determined.
    bool has(const std::string& name) const;
    /// Identifies a regular file until it is written to or replaced.
    struct Identity {
        std::uint64_t device = 0,  ///< number of the file system
            inode = 0,             ///< number of the file there
            bytes = 0;             ///< its length
        std::int64_t seconds = 0,  ///< time of its last change
            nanoseconds = 0;       ///< its fraction of a second

        bool operator==(const Identity&) const = default;
    };
    /// The identity of a regular file; nullopt for anything else. Throws IoError if that cannot be
    /// determined.
    std::optional<Identity> identity(const std::string& name) const;
    /// Length and checksum of its first `most` bytes; nullopt if it is not a regular file. Throws
    /// IoError if it cannot be read, because an unreadable file must not be mistaken for a
    /// different one.
    std::optional<FileDigest> digest(const std::string& name,
                                     std::uint64_t most = UINT64_MAX) const;

    /// Opens the folder `name` in it, after creating it if necessary. Throws IoError.
    Folder make(const std::string& name) const;
    /// Returns false if there is no `from`. Replaces `to` in the other folder if it exists. Throws
    /// IoError.
    bool rename(const std::string& from, const Folder& folder, const std::string& to) const;
    /// Removes a file or an empty directory. An entry that cannot be removed stays.
    void remove(const std::string& name) const;
    /// Waits until its entries are on the disk. Throws IoError.
    void sync() const;

private:
    Folder(std::filesystem::path path, std::shared_ptr<FileDescriptor> descriptor);

    std::filesystem::path path_;
    std::shared_ptr<FileDescriptor> descriptor_;
};

/// The directory is in use by another process.
class BusyError : public IoError {
public:
    using IoError::IoError;
};

/// An exclusive lock on a directory, which shows that a process is at work there. It is flock() on
/// a file ".lock" in the directory, which holds the process ID and is removed with the lock. The
/// lock ends with the process, however that ends.
class DirectoryLock {
public:
    /// Does not wait. Throws BusyError, with the ID of the process that has the lock, and IoError
    /// if the file cannot be created. On a file system without locks it is not held, see is_held().
    explicit DirectoryLock(const std::filesystem::path& directory);
    ~DirectoryLock();
    DirectoryLock(const DirectoryLock&) = delete;
    DirectoryLock& operator=(const DirectoryLock&) = delete;

    /// False if the file system does not support locks, so no process is kept out.
    bool is_held() const { return file_.is_open(); }

private:
    std::filesystem::path path_;
    FileDescriptor file_;
};

}  // namespace tapestry
