// Runs a program's tests without waiting for the disk, with the usual permissions of new files.
// With
// --reporters=cpu it prints the processor time of every test case instead, its children's included:
// what a case costs on a busy machine, too.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <tapestry/tests/skip.h>

#include <sys/stat.h>

#include <ctime>
#include <iostream>

#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

// Seconds of this process and of its children that have ended.
double processor_seconds() {
#ifdef __linux__
    double seconds = 0;
    for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage used{};
        ::getrusage(who, &used);
        for (const timeval& t : {used.ru_utime, used.ru_stime}) {
            seconds += static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
        }
    }
    return seconds;
#else
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
#endif
}

// "SECONDS NAME" for every test case.
struct CpuReporter final : doctest::IReporter {
    explicit CpuReporter(const doctest::ContextOptions&) {}
    void test_case_start(const doctest::TestCaseData& data) override {
        name_ = data.m_name;
        began_ = processor_seconds();
    }
    void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
        std::cout << processor_seconds() - began_ << ' ' << name_
                  << (stats.testCaseSuccess ? "" : ": failed") << std::endl;
    }
    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats&) override {}
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}

private:
    const char* name_ = "";
    double began_ = 0;
};
REGISTER_REPORTER("cpu", 0, CpuReporter);

}  // namespace

int main(int argc, char** argv) {
    ::umask(022);  // tests run commands as another user, who reads what the test has written
    skip_syncs();
    return doctest::Context(argc, argv).run();
}
