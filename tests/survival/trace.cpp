#include <tapestry/tests/survival/trace.h>

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <map>
#include <optional>

// Copied from <linux/ptrace.h>, which conflicts with <sys/ptrace.h>.
#ifndef PTRACE_SYSCALL_INFO_ENTRY
#define PTRACE_SYSCALL_INFO_ENTRY 1
#define PTRACE_SYSCALL_INFO_EXIT 2
#endif

namespace tapestry::test {
namespace {

namespace fs = std::filesystem;

#if defined(__x86_64__)

constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;

// A thread's call until it returns.
struct Pending {
    std::uint64_t number = 0;
    std::uint64_t arguments[6] = {};
    std::optional<FileEvent> event = {};
    std::string opens = {};
};

class Tracer {
public:
    Tracer(const TraceOptions& options, pid_t child) : options_(options), process_(child) {}

    TraceResult run() {
        threads_[process_] = {};
        int status = 0;
        while (!threads_.empty()) {
            const pid_t thread = ::waitpid(-1, &status, __WALL);
            if (thread < 0) break;
            if (WIFEXITED(status) || WIFSIGNALED(status)) {
                threads_.erase(thread);
                if (thread == process_) {
                    result_.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
                }
                continue;
            }
            threads_.try_emplace(thread);
            ::ptrace(PTRACE_SYSCALL, thread, 0, stopped(thread, WSTOPSIG(status)));
        }
        return std::move(result_);
    }

private:
    // Returns the signal to continue with.
    int stopped(pid_t thread, int signal) {
        if (signal == (SIGTRAP | 0x80)) {
            at_call(thread);
            return 0;
        }
        const bool ours = signal == SIGTRAP || signal == SIGSTOP;  // from ptrace itself
        return ours ? 0 : signal;
    }

    void at_call(pid_t thread) {
        __ptrace_syscall_info info{};
        if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0) return;
        Pending& pending = threads_[thread];
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
            pending.number = info.entry.nr;
            for (int i = 0; i < 6; ++i) pending.arguments[i] = info.entry.args[i];
            pending.event = event_of(pending);
            pending.opens = std::move(opening_);
            opening_.clear();
            if (pending.event) tell(false);
        } else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
            const auto value = static_cast<std::int64_t>(info.exit.rval);
            if (pending.number == SYS_close && value == 0) files_.erase(fd(pending, 0));
            if (is_open(pending) && value >= 0) {
                files_.erase(static_cast<int>(value));
                if (!pending.opens.empty()) files_[static_cast<int>(value)] = {pending.opens, 0};
            }
            if (pending.event) {
                if (value >= 0) finish(pending, value);
                tell(true);
                ++count_;
            }
            pending.event.reset();
        }
    }

    void tell(bool returned) {
        if (options_.kill && options_.kill(count_, returned)) ::kill(process_, SIGKILL);
    }

    // ---- interpreting calls ---------------------------------------------------------------------

    std::optional<FileEvent> event_of(const Pending& p) {
        const auto& a = p.arguments;
        switch (p.number) {
            case SYS_open: return opening(path_at(AT_FDCWD, a[0]), a[1]);
            case SYS_openat: return opening(path_at(fd(p, 0), a[1]), a[2]);
            case SYS_write: return writing(fd(p, 0), a[1], a[2], std::nullopt);
            case SYS_pwrite64: return writing(fd(p, 0), a[1], a[2], a[3]);
            case SYS_ftruncate: return of_file(FileCall::truncate, fd(p, 0), a[1]);
            case SYS_fsync:
            case SYS_fdatasync: return of_file(FileCall::sync, fd(p, 0), 0);
            case SYS_rename: return moving(path_at(AT_FDCWD, a[0]), path_at(AT_FDCWD, a[1]));
            case SYS_renameat:
            case SYS_renameat2: return moving(path_at(fd(p, 0), a[1]), path_at(fd(p, 2), a[3]));
            case SYS_unlink:
            case SYS_rmdir: return of_path(FileCall::unlink, path_at(AT_FDCWD, a[0]));
            case SYS_unlinkat: return of_path(FileCall::unlink, path_at(fd(p, 0), a[1]));
            case SYS_mkdir: return of_path(FileCall::make_directory, path_at(AT_FDCWD, a[0]));
            case SYS_mkdirat: return of_path(FileCall::make_directory, path_at(fd(p, 0), a[1]));
            default: return std::nullopt;
        }
    }

    // Opening for reading is not an event; but a directory may be synced.
    std::optional<FileEvent> opening(const std::string& path, std::uint64_t flags) {
        opening_ = path;
        if (path.empty() || (flags & O_ACCMODE) == O_RDONLY) return std::nullopt;
        FileEvent event{.call = FileCall::open, .path = path};
        event.created = (flags & O_CREAT) != 0 && !fs::exists(options_.folder / path);
        event.truncated = (flags & O_TRUNC) != 0;
        return event;
    }

    std::optional<FileEvent> writing(int file, std::uint64_t from, std::uint64_t size,
                                     std::optional<std::uint64_t> at) {
        const auto open = files_.find(file);
        if (open == files_.end()) return std::nullopt;
        FileEvent event{.call = FileCall::write, .path = open->second.path};
        event.at = at.value_or(open->second.position);
        event.bytes = memory(from, size);
        return event;
    }

    std::optional<FileEvent> of_file(FileCall call, int file, std::uint64_t at) {
        const auto open = files_.find(file);
        if (open == files_.end()) return std::nullopt;
        return FileEvent{.call = call, .path = open->second.path, .at = at};
    }

    static std::optional<FileEvent> of_path(FileCall call, const std::string& path) {
        if (path.empty()) return std::nullopt;
        return FileEvent{.call = call, .path = path};
    }

    static std::optional<FileEvent> moving(const std::string& from, const std::string& to) {
        if (from.empty() || to.empty()) return std::nullopt;
        return FileEvent{.call = FileCall::rename, .path = from, .to = to};
    }

    // The call succeeded.
    void finish(Pending& pending, std::int64_t value) {
        FileEvent& event = *pending.event;
        // Another thread may have renamed the file by now.
        if (event.call == FileCall::write || event.call == FileCall::truncate ||
            event.call == FileCall::sync) {
            event.path = files_[fd(pending, 0)].path;
        }
        if (event.call == FileCall::write) {
            event.bytes.resize(static_cast<std::size_t>(value));
            if (pending.number == SYS_write) {
                files_[fd(pending, 0)].position += static_cast<std::uint64_t>(value);
            }
        } else if (event.call == FileCall::rename) {
            for (auto& [file, open] : files_) {
                if (open.path == event.path) open.path = event.to;
            }
        }
        result_.events.push_back(std::move(event));
    }

    // ---- reading the process --------------------------------------------------------------------

    static bool is_open(const Pending& p) { return p.number == SYS_open || p.number == SYS_openat; }

    static int fd(const Pending& p, int i) { return static_cast<int>(p.arguments[i]); }

    std::string memory(std::uint64_t from, std::uint64_t size) const {
        std::string bytes(static_cast<std::size_t>(size), '\0');
        const iovec here{bytes.data(), bytes.size()};
        // NOLINTNEXTLINE: an address of the other process
        const iovec there{reinterpret_cast<void*>(from), bytes.size()};
        const auto got = ::process_vm_readv(process_, &here, 1, &there, 1, 0);
        bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return bytes;
    }

    std::string text(std::uint64_t from) const {
        std::string all;
        while (all.size() < PATH_MAX) {  // to the page's end: the next page may not exist
            const std::string part = memory(from + all.size(), 4096 - (from + all.size()) % 4096);
            if (part.empty()) break;
            all += part;
            const auto end = all.find('\0');
            if (end != std::string::npos) return all.substr(0, end);
        }
        return all;
    }

    // Below the folder, or empty.
    std::string path_at(int directory, std::uint64_t name) const {
        const fs::path path = text(name);
        if (path.empty()) return {};
        fs::path base = options_.folder;
        if (directory != AT_FDCWD) {
            std::error_code error;
            base = fs::read_symlink(
                "/proc/" + std::to_string(process_) + "/fd/" + std::to_string(directory), error);
            if (error) return {};
        }
        const std::string shown = (base / path).lexically_normal().native();
        const std::string root = options_.folder.native() + "/";
        return shown.starts_with(root) ? shown.substr(root.size()) : std::string();
    }

    struct OpenFile {
        std::string path;
        std::uint64_t position = 0;
    };

    const TraceOptions& options_;
    pid_t process_;
    std::map<pid_t, Pending> threads_;
    std::map<int, OpenFile> files_;
    std::string opening_;
    std::int64_t count_ = 0;
    TraceResult result_;
};

// Can the memory of a process that was forked from this one be read? Some containers forbid it.
bool is_readable(pid_t child) {
    char ours = 'a', theirs = 0;
    const iovec here{&theirs, 1}, there{&ours, 1};
    return ::process_vm_readv(child, &here, 1, &there, 1, 0) == 1;
}

[[noreturn]] void become(const TraceOptions& options) {
    std::vector<char*> arguments;
    for (const std::string& one : options.arguments) {
        arguments.push_back(const_cast<char*>(one.c_str()));
    }
    arguments.push_back(nullptr);
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::setenv("TAPESTRY_THREADS", "1", 1);
    if (::chdir(options.folder.c_str()) == 0 && ::ptrace(PTRACE_TRACEME, 0, 0, 0) == 0) {
        ::raise(SIGSTOP);
        ::execv(arguments[0], arguments.data());
    }
    ::_exit(125);
}

#endif

}  // namespace

TraceResult trace(const TraceOptions& options) {
#if defined(__x86_64__)
    TraceOptions resolved = options;
    resolved.folder = fs::canonical(options.folder);  // as /proc names it: TMPDIR may be a link
    const pid_t child = ::fork();
    if (child == 0) become(resolved);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status)) {
        return {.possible = false};
    }
    if (::ptrace(PTRACE_SETOPTIONS, child, 0, kOptions) != 0 || !is_readable(child)) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
        return {.possible = false};
    }
    ::ptrace(PTRACE_SYSCALL, child, 0, 0);
    return Tracer(resolved, child).run();
#else
    static_cast<void>(options);
    return {.possible = false};
#endif
}

}  // namespace tapestry::test
