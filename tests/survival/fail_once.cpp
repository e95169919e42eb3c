// A library for LD_PRELOAD that makes the program's k-th call of one kind fail, and no other.
//
//     LD_PRELOAD=libfail_once.so FAIL_ONCE=malloc:1234 tapestry sample --model m
//     LD_PRELOAD=libfail_once.so FAIL_ONCE_COUNT=n.txt ...    how many of each kind are there?
//
// Kinds are the names below, each with its variants (calloc, realloc and the aligned ones are
// malloc as well); "other-malloc" counts only those from threads other than main's. Counts from the
// beginning of main to its end. Calls inside the C library (stdio's writes, malloc's mmap) are not
// seen. Read next: failing_calls.sh.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
// The C library's own functions, under names that need no dlsym, which allocates.
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace {

enum Kind {
    kMalloc,
    kOpen,
    kRead,
    kWrite,
    kFsync,
    kRename,
    kMmap,
    kStat,
    kUnlink,
    kMkdir,
    kTruncate,
    kFlock,
    kThread,
    kKinds
};
constexpr const char* kNames[kKinds] = {"malloc",   "open",  "read",  "write",  "fsync",
                                        "rename",   "mmap",  "stat",  "unlink", "mkdir",
                                        "truncate", "flock", "thread"};
constexpr int kErrors[kKinds] = {ENOMEM, EMFILE, EIO, ENOSPC, EIO,    EIO,   ENOMEM,
                                 EIO,    EIO,    EIO, EIO,    ENOLCK, EAGAIN};

int chosen = -1;
bool of_others = false;
long failing = 0;
std::atomic<bool> in_main{false};
std::atomic<long> calls[kKinds];
std::atomic<long> other_mallocs{0};
thread_local bool is_main = false;

// Should this call fail? Sets errno. The program waits five seconds for a full disk, so three
// writes of four fail for another reason.
bool fails(Kind kind) {
    if (!in_main.load(std::memory_order_relaxed)) return false;
    long call = calls[kind].fetch_add(1, std::memory_order_relaxed) + 1;
    const bool by_other = kind == kMalloc && !is_main;
    if (by_other) {
        const long other = other_mallocs.fetch_add(1, std::memory_order_relaxed) + 1;
        if (of_others) call = other;
    }
    if (kind != chosen || call != failing || (of_others && !by_other)) return false;
    errno = kind == kWrite && failing % 4 != 0 ? EIO : kErrors[kind];
    return true;
}

void read_choice() {
    const char* text = std::getenv("FAIL_ONCE");
    constexpr const char* kOther = "other-";
    of_others = text != nullptr && std::strncmp(text, kOther, std::strlen(kOther)) == 0;
    if (of_others) text += std::strlen(kOther);
    const char* colon = text == nullptr ? nullptr : std::strchr(text, ':');
    if (colon == nullptr) return;
    for (int kind = 0; kind < kKinds; ++kind) {
        const auto length = static_cast<std::size_t>(colon - text);
        if (std::strlen(kNames[kind]) == length && std::strncmp(kNames[kind], text, length) == 0) {
            chosen = kind;
        }
    }
    failing = std::atol(colon + 1);
}

void write_count() {
    const char* path = std::getenv("FAIL_ONCE_COUNT");
    std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "w");
    if (file == nullptr) return;
    for (int kind = 0; kind < kKinds; ++kind) {
        std::fprintf(file, "%s %ld\n", kNames[kind], calls[kind].load());
    }
    std::fprintf(file, "other-malloc %ld\n", other_mallocs.load());
    std::fclose(file);
}

using Main = int (*)(int, char**, char**);
Main program_main = nullptr;

int watched_main(int argc, char** argv, char** environment) {
    read_choice();
    is_main = true;
    in_main = true;
    const int code = program_main(argc, argv, environment);
    in_main = false;
    write_count();
    return code;
}

// The function of this name in the next library.
template <class F>
F next(const char* name) {
    void* const symbol = ::dlsym(RTLD_NEXT, name);
    F function;
    static_assert(sizeof(function) == sizeof(symbol));
    std::memcpy(&function, &symbol, sizeof(symbol));
    return function;
}

// The mode argument exists only if the call may create a file.
int mode_in(int flags, va_list arguments) {
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, int) : 0;
}

}  // namespace

extern "C" {

int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
    program_main = main;
    using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
    return next<Start>("__libc_start_main")(watched_main, argc, argv, init, fini, rtld_fini,
                                            stack_end);
}

void* malloc(std::size_t bytes) { return fails(kMalloc) ? nullptr : __libc_malloc(bytes); }

void* calloc(std::size_t count, std::size_t bytes) {
    return fails(kMalloc) ? nullptr : __libc_calloc(count, bytes);
}

void* realloc(void* block, std::size_t bytes) {
    return fails(kMalloc) ? nullptr : __libc_realloc(block, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    return fails(kMalloc) ? nullptr : __libc_memalign(alignment, bytes);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
    if (fails(kMalloc)) return ENOMEM;
    *block = __libc_memalign(alignment, bytes);
    return *block == nullptr ? ENOMEM : 0;
}

int open(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const int mode = mode_in(flags, arguments);
    va_end(arguments);
    return fails(kOpen) ? -1 : next<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const int mode = mode_in(flags, arguments);
    va_end(arguments);
    if (fails(kOpen)) return -1;
    return next<int (*)(int, const char*, int, ...)>("openat")(directory, path, flags, mode);
}

std::FILE* fopen64(const char* path, const char* mode) {
    return fails(kOpen) ? nullptr
                        : next<std::FILE* (*)(const char*, const char*)>("fopen64")(path, mode);
}

ssize_t read(int file, void* to, std::size_t bytes) {
    return fails(kRead) ? -1 : next<ssize_t (*)(int, void*, std::size_t)>("read")(file, to, bytes);
}

ssize_t pread(int file, void* to, std::size_t bytes, off_t at) {
    if (fails(kRead)) return -1;
    return next<ssize_t (*)(int, void*, std::size_t, off_t)>("pread")(file, to, bytes, at);
}

ssize_t write(int file, const void* from, std::size_t bytes) {
    if (fails(kWrite)) return -1;
    return next<ssize_t (*)(int, const void*, std::size_t)>("write")(file, from, bytes);
}

ssize_t writev(int file, const iovec* from, int count) {
    if (fails(kWrite)) return -1;
    return next<ssize_t (*)(int, const iovec*, int)>("writev")(file, from, count);
}

ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t at) {
    if (fails(kWrite)) return -1;
    return next<ssize_t (*)(int, const void*, std::size_t, off_t)>("pwrite")(file, from, bytes, at);
}

int fdatasync(int file) { return fails(kFsync) ? -1 : next<int (*)(int)>("fdatasync")(file); }

int stat(const char* path, struct stat* to) {
    return fails(kStat) ? -1 : next<int (*)(const char*, struct stat*)>("stat")(path, to);
}

int lstat(const char* path, struct stat* to) {
    return fails(kStat) ? -1 : next<int (*)(const char*, struct stat*)>("lstat")(path, to);
}

int fstat(int file, struct stat* to) {
    return fails(kStat) ? -1 : next<int (*)(int, struct stat*)>("fstat")(file, to);
}

int fstatat(int directory, const char* path, struct stat* to, int flags) {
    if (fails(kStat)) return -1;
    return next<int (*)(int, const char*, struct stat*, int)>("fstatat")(directory, path, to,
                                                                         flags);
}

int unlink(const char* path) {
    return fails(kUnlink) ? -1 : next<int (*)(const char*)>("unlink")(path);
}

int unlinkat(int directory, const char* path, int flags) {
    if (fails(kUnlink)) return -1;
    return next<int (*)(int, const char*, int)>("unlinkat")(directory, path, flags);
}

int remove(const char* path) {
    return fails(kUnlink) ? -1 : next<int (*)(const char*)>("remove")(path);
}

int mkdir(const char* path, mode_t mode) {
    return fails(kMkdir) ? -1 : next<int (*)(const char*, mode_t)>("mkdir")(path, mode);
}

int ftruncate(int file, off_t bytes) {
    return fails(kTruncate) ? -1 : next<int (*)(int, off_t)>("ftruncate")(file, bytes);
}

int fallocate(int file, int mode, off_t at, off_t bytes) {
    if (fails(kTruncate)) return -1;
    return next<int (*)(int, int, off_t, off_t)>("fallocate")(file, mode, at, bytes);
}

int flock(int file, int operation) {
    return fails(kFlock) ? -1 : next<int (*)(int, int)>("flock")(file, operation);
}

DIR* opendir(const char* path) {
    return fails(kOpen) ? nullptr : next<DIR* (*)(const char*)>("opendir")(path);
}

dirent* readdir(DIR* directory) {
    return fails(kRead) ? nullptr : next<dirent* (*)(DIR*)>("readdir")(directory);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*f)(void*),
                   void* context) {
    if (fails(kThread)) return EAGAIN;
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    return next<Create>("pthread_create")(thread, attributes, f, context);
}

int fsync(int file) { return fails(kFsync) ? -1 : next<int (*)(int)>("fsync")(file); }

int rename(const char* from, const char* to) {
    return fails(kRename) ? -1 : next<int (*)(const char*, const char*)>("rename")(from, to);
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) {
    if (fails(kRename)) return -1;
    return next<int (*)(int, const char*, int, const char*)>("renameat")(from_directory, from,
                                                                         to_directory, to);
}

void* mmap64(void* at, std::size_t bytes, int protection, int flags, int file, off64_t offset) {
    if (fails(kMmap)) return MAP_FAILED;
    return next<void* (*)(void*, std::size_t, int, int, int, off64_t)>("mmap64")(
        at, bytes, protection, flags, file, offset);
}

void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) {
    return mmap64(at, bytes, protection, flags, file, offset);
}
}
