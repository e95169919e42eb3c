// One at a time: a directory that a process says it is at work in. The lock ends with the process,
// however that ends. Read next: nn/train/run_directory.h, which is locked.
#pragma once

#include <tapestry/core/error.h>
#include <tapestry/core/file.h>

#include <filesystem>

namespace tapestry {

/// The directory is in use by another process.
class BusyError : public IoError {
public:
    using IoError::IoError;
};

/// The lock on a directory: flock() on a file ".lock" in it, which holds the number of the process
/// and is gone when the lock is.
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
