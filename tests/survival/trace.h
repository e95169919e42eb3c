// A command under ptrace: what it does to files, in order, or its death at one of these moments.
// ptrace sees the system calls themselves, and so also those that a library makes on its own.
// Read next: disk.h, what a disk may be left with after them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tapestry::test {

enum class FileCall { open, write, truncate, sync, rename, unlink, make_directory };

/// One call that succeeded, below the folder that is watched. Paths are relative to it.
struct FileEvent {
    FileCall call = FileCall::open;
    std::string path = {};
    std::string to = {};     ///< of a rename
    bool created = false;    ///< by an open
    bool truncated = false;  ///< likewise
    std::uint64_t at = 0;    ///< of a write: where; of a truncation: the new length
    std::string bytes = {};  ///< that were written
};

struct TraceOptions {
    std::vector<std::string> arguments = {};  ///< program first
    std::filesystem::path folder = {};        ///< where it runs; what lies below is watched
    /// Called before such a call (`returned` false) and after it: true kills the process there.
    std::function<bool(std::int64_t number, bool returned)> kill = {};
};

struct TraceResult {
    bool possible = true;  ///< false: the system does not allow it, or another processor's calls
    int status = 0;        ///< exit code, or -signal
    std::vector<FileEvent> events = {};
};

/// Runs it to its end. TAPESTRY_THREADS is 1.
TraceResult trace(const TraceOptions& options);

}  // namespace tapestry::test
