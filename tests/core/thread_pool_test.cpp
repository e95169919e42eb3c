// The threads behind parallel_for: loops are really shared, do not wait for a thread that took no
// chunk, and do not expect threads after a fork; threads sleep when idle and end with their owner.
#include <tapestry/core/parallel.h>
#include <tapestry/core/tensor.h>
#include <tapestry/core/thread_shortage.h>
#include <tapestry/tests/core/child.h>
#include <tapestry/tests/core/support.h>
#include <tapestry/tests/skip.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include <pthread.h>

using namespace tapestry;
using namespace std::chrono_literals;
using tapestry::test::check_throws;

namespace {

constexpr int kPatience = 60'000;  // milliseconds

// Checks that each chunk runs once; returns the threads that ran them.
std::set<std::thread::id> check_loop(std::int64_t chunks) {
    std::vector<std::thread::id> who(static_cast<std::size_t>(chunks));
    std::vector<int> visits(static_cast<std::size_t>(chunks), 0);
    parallel_for_chunks(chunks, [&](std::int64_t i) {
        ++visits[static_cast<std::size_t>(i)];
        who[static_cast<std::size_t>(i)] = std::this_thread::get_id();
    });
    CHECK(visits == std::vector<int>(static_cast<std::size_t>(chunks), 1));
    return {who.begin(), who.end()};
}

// True if `threads` threads run chunks of one loop at the same time. Each waits for the others, at
// most kPatience: a busy machine may let a thread wait for seconds.
bool share_a_loop(int threads) {
    std::atomic<int> inside{0};
    std::atomic<bool> together{false};
    parallel_for_chunks(threads, [&](std::int64_t) {
        if (++inside == threads) together = true;
        for (int i = 0; i < kPatience && !together; ++i) std::this_thread::sleep_for(1ms);
        --inside;  // otherwise a single thread would be counted twice
    });
    return together;
}

std::ptrdiff_t threads_of_process() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

double processor_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The thread that runs the other chunk of a loop of two.
pthread_t other_thread() {
    const pthread_t here = pthread_self();
    pthread_t other = here;
    std::atomic<int> inside{0};
    parallel_for_chunks(2, [&](std::int64_t) {
        if (!pthread_equal(pthread_self(), here)) other = pthread_self();
        ++inside;
        for (int i = 0; i < kPatience && inside < 2; ++i) std::this_thread::sleep_for(1ms);
    });
    REQUIRE_FALSE(pthread_equal(other, here));
    return other;
}

// Suspends a thread in a signal handler, as a scheduler could.
class Hold {
public:
    explicit Hold(pthread_t thread) {
        held = released = false;
        struct sigaction action {};
        action.sa_handler = [](int) {
            held = true;
            while (!released) usleep(1000);
        };
        sigaction(SIGUSR1, &action, &before_);
        REQUIRE_EQ(pthread_kill(thread, SIGUSR1), 0);
        while (!held) std::this_thread::sleep_for(1ms);
    }
    ~Hold() {
        release();
        sigaction(SIGUSR1, &before_, nullptr);
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    static void release() { released = true; }
    static bool is_released() { return released; }

private:
    static inline std::atomic<bool> held, released;
    struct sigaction before_ {};
};

// The result of f in a forked process, 0 to 99; empty if it crashed or did not end within two
// minutes.
template <class F>
std::optional<int> in_fork(F&& f) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(2 * kPatience / 1000);
        int result = 99;
        try {
            result = f();
        } catch (...) {
        }
        _exit(result);
    }
    int status = 0;
    REQUIRE_EQ(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status)) return std::nullopt;
    return WEXITSTATUS(status);
}

// Limits the address space so that tensors fit but a thread's stack does not. Returns false if that
// failed.
bool leave_no_room_for_a_thread() {
    rlimit stack{};
    getrlimit(RLIMIT_STACK, &stack);
    if (stack.rlim_cur < std::size_t{4} << 20) return false;
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    if (!(file >> pages)) return false;
    const auto bytes = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t limit = bytes + (std::size_t{2} << 20);
    const rlimit space{limit, limit};
    if (setrlimit(RLIMIT_AS, &space) != 0) return false;
    return mmap(nullptr, std::size_t{4} << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
           MAP_FAILED;
}

// False in emulators and under ThreadSanitizer.
bool has_threads_after_fork() {
    return in_fork([] {
               std::thread([] {}).join();
               return 1;
           }) == 1;
}

}  // namespace

TEST_CASE("thread pool: thousands of loops, each chunk once") {
    for (const int threads : {2, 3}) {
        const ThreadsGuard guard(threads);
        for (std::int64_t round = 0; round < 3000; ++round) check_loop(1 + round % 40);
    }
}

TEST_CASE("thread pool: a loop does not wait for a thread that has taken no chunk") {
    const ThreadsGuard guard(2);
    const Hold hold(other_thread());
    std::thread limit([] {  // a loop that does wait fails here instead of hanging
        for (int i = 0; i < kPatience && !Hold::is_released(); ++i)
            std::this_thread::sleep_for(1ms);
        Hold::release();
    });
    for (int round = 0; round < 1000; ++round) {
        CHECK(check_loop(8) == std::set{std::this_thread::get_id()});
    }
    CHECK_FALSE(Hold::is_released());
    Hold::release();
    limit.join();
    CHECK(share_a_loop(2));
}

TEST_CASE("thread pool: threads that have gone to sleep come again") {
    const ThreadsGuard guard(3);
    for (int round = 0; round < 3; ++round) {
        CHECK(share_a_loop(3));
        std::this_thread::sleep_for(20ms);
    }
}

TEST_CASE("thread pool: idle threads take no time") {
    const ThreadsGuard guard(4);
    // Threads spin for some milliseconds first, and a busy machine may run them late: each try
    // shares a loop of its own, or the tries would wait out a spin of seconds.
    double used = 1e9;
    for (int tries = 0; tries < 20 && used >= 0.1; ++tries) {
        REQUIRE(share_a_loop(4));
        std::this_thread::sleep_for(50ms);
        const double before = processor_seconds();
        std::this_thread::sleep_for(400ms);
        used = processor_seconds() - before;
    }
    CHECK(used < 0.1);
}

TEST_CASE("thread pool: more threads later, and fewer for a while") {
    const ThreadsGuard guard(2);
    CHECK(share_a_loop(2));
    set_num_threads(5);
    CHECK(share_a_loop(5));
    {
        const ThreadsGuard alone(1);
        CHECK(check_loop(50) == std::set{std::this_thread::get_id()});
    }
    set_num_threads(2);
    for (int round = 0; round < 200; ++round) CHECK(check_loop(20).size() <= 2);
    CHECK(share_a_loop(2));
    set_num_threads(5);
    CHECK(share_a_loop(5));
}

TEST_CASE("thread pool: an exception comes out, and all works on") {
    const ThreadsGuard guard(3);
    for (int round = 0; round < 20; ++round) {
        check_throws<ValueError>(
            [] { parallel_for_chunks(5, [](std::int64_t i) { fail("chunk {}", i); }); }, "chunk 0");
        check_loop(100);
    }
}

TEST_CASE("thread pool: another thread has its own, which ends with it") {
    const ThreadsGuard guard(3);
    check_loop(100);
    // LLVM's OpenMP keeps the threads of a finished region for the next one: there may be one more
    // than before, but never two.
#if defined(__clang__)
    constexpr int kKept = 1;
#else
    constexpr int kKept = 0;
#endif
    const auto before = threads_of_process();
    const auto most = before + kKept;
    for (int i = 0; i < 5; ++i) {
        std::thread other([&, i] {
            CHECK(share_a_loop(3));
            if (i == 0) CHECK(threads_of_process() == before + 3);
        });
        for (int round = 0; round < 100; ++round) check_loop(100);
        other.join();
        for (int wait = 0; wait < kPatience && threads_of_process() > most; ++wait) {
            std::this_thread::sleep_for(1ms);  // the kernel's list is updated late
        }
        CHECK(threads_of_process() <= most);
    }
}

TEST_CASE("thread pool: a forked process starts its own") {
    const ThreadsGuard guard(2);
    REQUIRE(share_a_loop(2));
    if (!has_threads_after_fork()) return test::skip("a forked process has no threads here");
    std::this_thread::sleep_for(20ms);  // asleep: a loop in the child would try to wake it
    const auto work = [] {
        std::atomic<int> sum{0};
        parallel_for_chunks(10, [&](std::int64_t i) { sum += static_cast<int>(i); });
        return share_a_loop(2) ? sum.load() : 98;
    };
    CHECK(in_fork(work) == 45);
    CHECK(in_fork([&] { return in_fork(work) == 45 ? work() : 97; }) == 45);
    CHECK(share_a_loop(2));
}

// AddressSanitizer needs the address space itself.
TEST_CASE("thread pool: when the system has no more threads" *
          doctest::skip(test::kAddressSanitizer)) {
    if (!has_threads_after_fork()) return test::skip("a forked process has no threads here");
    constexpr int kNoLimit = 1;
    const auto limited = [] {
        pthread_attr_t stacks;  // of 8 MB each, whatever `ulimit -s` says
        pthread_attr_init(&stacks);
        pthread_attr_setstacksize(&stacks, std::size_t{8} << 20);
        if (pthread_setattr_default_np(&stacks) != 0) return 7;
        const ThreadsGuard guard(1000);
        const rlimit limit{std::size_t{2} << 30, std::size_t{2} << 30};
        if (setrlimit(RLIMIT_AS, &limit) != 0) return kNoLimit;
        const bool kept = mmap(nullptr, std::size_t{4} << 30, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
        if (!kept) return kNoLimit;  // such as in an emulator
        ThreadShortage shortage;
        int told = 0;
        on_thread_shortage([&](const ThreadShortage& s) { shortage = s, ++told; });
        const auto work = [] {
            std::atomic<int> sum{0};
            parallel_for_chunks(1000, [&](std::int64_t) { ++sum; });
            return sum == 1000;
        };
        if (!work() || !work() || told != 1) return 2;
        if (shortage.wanted != 1000 || shortage.reason.empty()) return 3;
        if (shortage.taken < 2 || shortage.taken >= 300) return 4;
        if (num_threads() != shortage.taken || !share_a_loop(shortage.taken)) return 5;
        set_num_threads(2);
        return share_a_loop(2) ? 0 : 6;
    };
    const std::optional<int> result = in_fork(limited);
    if (result == kNoLimit) return test::skip("the address space cannot be limited here");
    CHECK(result == 0);
}

TEST_CASE("thread pool: child of the next case" * doctest::skip()) {
    test::answer([]() -> std::string {
        ThreadShortage shortage;
        on_thread_shortage([&](const ThreadShortage& s) { shortage = s; });
        if (!leave_no_room_for_a_thread()) return "no limit";
        const bool here = check_loop(50) == std::set{std::this_thread::get_id()};
        return fmt::format("{} {} {} {}", here, shortage.wanted, shortage.taken, num_threads());
    });
}

// In a new process, because after a fork the stacks of vanished threads would be reusable.
TEST_CASE("thread pool: when the system has no thread at all, loops run on their own" *
          doctest::skip(test::kAddressSanitizer)) {
    const auto said =
        test::ask_child("thread pool: child of the next case", "TAPESTRY_THREADS", "4");
    if (!said || *said == "no limit") return test::skip("the address space cannot be limited here");
    CHECK_EQ(*said, "true 4 1 1");
}

TEST_CASE("thread pool: in a region of OpenMP each thread's loops are its own") {
    const ThreadsGuard guard(2);
    std::atomic<int> here_run{0}, elsewhere{0}, members{0};
    const auto run = [&] {
        const auto here = std::this_thread::get_id();
        ++members;
        parallel_for_chunks(20, [&](std::int64_t) {
            ++(std::this_thread::get_id() == here ? here_run : elsewhere);
        });
    };
#pragma omp parallel num_threads(3)
    run();
    CHECK(members == 3);
    CHECK(here_run == members * 20);
    CHECK(elsewhere == 0);
    CHECK(share_a_loop(2));
}

TEST_CASE("thread pool: a process forked while threads allocate and compute does not hang") {
    if (!has_threads_after_fork()) return test::skip("a forked process has no threads here");
    std::atomic<bool> over{false};
    std::vector<std::thread> busy;
    for (int i = 0; i < 2; ++i) {
        busy.emplace_back([&over] {
            while (!over) const Tensor x({64}, DType::f32);
        });
    }
    const int forks = test::kAddressSanitizer ? 40 : 200;  // its memory is slow to fork
    int done = 0;
    for (int i = 0; i < forks; ++i) {
        done += in_fork([] { return Tensor({64}, DType::f32).numel() == 64 ? 1 : 0; }).value_or(0);
        if (done <= i) break;  // each that hangs takes two minutes
    }
    over = true;
    for (std::thread& thread : busy) thread.join();
    CHECK_EQ(done, forks);
}
