// Directory listings, a directory held open, and one that is locked. Read next: file.h;
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

/// The names in a directory, but "." and "..", in no order; as many as can be read, and why no
/// more, if there was a reason. (std::filesystem's iterators, and so its remove_all(), end the
/// process where there is no memory for the next path.)
std::vector<std::string> names_in(const std::filesystem::path& directory, std::error_code& error);

/// Whatever the reason: none where there is no such directory.
std::vector<std::string> names_in(const std::filesystem::path& directory);

/// Whether there is anything of this name. Throws IoError where that cannot be told: to do as if
/// there were nothing may cost what is there.
bool is_there(const std::filesystem::path& path);

/// Removes a file, a link, or a directory with all that is in it. What cannot be removed stays.
void remove_tree(const std::filesystem::path& path);

/// A file or folder cannot be written: something else, which stays, has its name.
class PlaceTakenError : public IoError {
public:
    using IoError::IoError;
};

/// A directory held open, for changing what is in it. Names are plain names of its own entries,
/// looked up relative to its descriptor, and links are never followed: whatever a stranger has put
/// there, nothing outside is changed.
class Folder {
public:
    /// The directory at `path`, which is the user's own word: here a link is followed. Throws
    /// IoError.
    explicit Folder(std::filesystem::path path);

    /// The folder `name` in it; nothing if there is none. Throws PlaceTakenError if a link or a
    /// file has that name, IoError if it cannot be opened.
    std::optional<Folder> find(const std::string& name) const;

    /// For messages.
    const std::filesystem::path& path() const { return path_; }

    /// Whether there is an entry of this name, a broken link among it. Throws IoError if that
    /// cannot be told.
    bool has(const std::string& name) const;
    /// What identifies a regular file until somebody writes to it or puts another in its place;
    /// nothing for anything else. Throws IoError if that cannot be told.
    struct Identity {
        std::uint64_t device = 0, inode = 0, bytes = 0;
        std::int64_t seconds = 0, nanoseconds = 0;  ///< of its last change

        bool operator==(const Identity&) const = default;
    };
    std::optional<Identity> identity(const std::string& name) const;
    /// Length and checksum of its first `most` bytes; nothing if it is no regular file. Throws
    /// IoError if it cannot be read: that is no reason to take it for another's.
    std::optional<FileDigest> digest(const std::string& name,
                                     std::uint64_t most = UINT64_MAX) const;

    /// Makes the folder `name` in it, unless it is there, and opens it. Throws IoError.
    Folder make(const std::string& name) const;
    /// Throws IoError; false if there is no `from`. `to` in the other folder is replaced if it is
    /// there.
    bool rename(const std::string& from, const Folder& folder, const std::string& to) const;
    /// What cannot be removed stays, and so does a directory that is not empty.
    void remove(const std::string& name) const;
    /// Waits until its names are on the disk. Throws IoError.
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

/// The lock on a directory, one at a time: its process says that it is at work there. It is flock()
/// on a file ".lock" in it, which holds the number of the process and is gone when the lock is. The
/// lock ends with the process, however that ends.
class DirectoryLock {
public:
    /// Does not wait. Throws BusyError, with the number of the process that has the lock, and
    /// IoError if the file cannot be made. On a file system without locks it is not
    /// held, see is_held().
    explicit DirectoryLock(const std::filesystem::path& directory);
    ~DirectoryLock();
    DirectoryLock(const DirectoryLock&) = delete;
    DirectoryLock& operator=(const DirectoryLock&) = delete;

    /// False: the file system knows no locks, and nobody is kept out.
    bool is_held() const { return file_.is_open(); }

private:
    std::filesystem::path path_;
    FileDescriptor file_;
};

}  // namespace tapestry
