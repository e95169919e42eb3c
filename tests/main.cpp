// Runs a program's tests without waiting for the disk.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <tapestry/tests/skip.h>

#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#endif

// LLVM's OpenMP never frees its first region's allocations.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libomp.so"; }

namespace {

// No test depends on surviving a power loss, but hundreds of commits would wait for a shared disk.
// So fsync and fdatasync succeed immediately in this process and its children; ptrace still sees
// them (tests/survival/trace.cpp). Not in the long form of tests or on a system without seccomp.
void skip_syncs() {
#ifdef __linux__
    if (tapestry::test::is_long()) return;
    sock_filter program[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_fsync},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_fdatasync},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO},  // with 0: success
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    const sock_fprog filter{sizeof program / sizeof *program, program};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
#endif
}

}  // namespace

int main(int argc, char** argv) {
    skip_syncs();
    return doctest::Context(argc, argv).run();
}
