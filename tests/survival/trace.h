// Runs a command under ptrace: records its file operations in order, or kills it at one of them.
// ptrace sees the system calls themselves, including those made by libraries. Read next: disk.h,
// what a disk may contain after them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tapestry::test {

enum class FileCall { open, write, truncate, sync, rename, unlink, make_directory };

/// A successful call below the observed folder. Paths are relative to it.
struct FileEvent {
    FileCall call = FileCall::open;
    std::string path = {};
    std::string to = {};     ///< for a rename
    bool created = false;    ///< by an open
    bool truncated = false;  ///< likewise
    std::uint64_t at = 0;    ///< for a write: offset; for a truncation: new length
    std::string bytes = {};  ///< written bytes
};

struct TraceOptions {
    std::vector<std::string> arguments = {};  ///< program first
    std::filesystem::path folder = {};  ///< working directory; everything below it is observed
    /// Called before such a call (`returned` false) and after it: true kills the process there.
    std::function<bool(std::int64_t number, bool returned)> kill = {};
};

struct TraceResult {
    bool possible = true;  ///< false: not permitted, or another processor's calls
    int status = 0;        ///< exit code, or -signal
    std::vector<FileEvent> events = {};
};

/// Runs the command to its end, with TAPESTRY_THREADS=1.
TraceResult trace(const TraceOptions& options);

}  // namespace tapestry::test
