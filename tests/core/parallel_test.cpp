// parallel_for: chunks that depend only on the work, propagation of errors, and TAPESTRY_THREADS.
#include <tapestry/tests/core/child.h>
#include <tapestry/tests/core/support.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

using namespace tapestry;
using tapestry::OwnThreadsGuard;
using tapestry::ThreadsGuard;
using tapestry::test::check_throws;

namespace {

using Range = std::pair<std::int64_t, std::int64_t>;

std::vector<Range> chunks_of(std::int64_t n, std::int64_t grain) {
    std::mutex mutex;
    std::vector<Range> chunks;
    parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
        const std::lock_guard lock(mutex);
        chunks.emplace_back(begin, end);
    });
    std::sort(chunks.begin(), chunks.end());
    return chunks;
}

}  // namespace

TEST_CASE("parallel: the same chunks for any number of threads") {
    for (const std::int64_t n : {-1, 0, 1, 9, 10, 11, 100, 1003}) {
        std::vector<Range> expected;
        for (std::int64_t i = 0; i < n; i += 10) expected.emplace_back(i, std::min(n, i + 10));
        for (const int threads : {1, 2, 3, 4, 16}) {
            const ThreadsGuard guard(threads);
            CHECK(chunks_of(n, 10) == expected);
        }
    }
    CHECK(chunks_of(3, 0).size() == 3);  // a grain below 1 counts as 1
    CHECK(chunks_of(3, -5).size() == 3);
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    CHECK(chunks_of(kMost, kMost) == std::vector<Range>{{0, kMost}});
    CHECK(chunks_of(kMost, kMost / 2) ==
          std::vector<Range>{{0, kMost / 2}, {kMost / 2, kMost - 1}, {kMost - 1, kMost}});
}

TEST_CASE("parallel: each chunk once") {
    for (const int threads : {1, 2, 4}) {
        const ThreadsGuard guard(threads);
        std::vector<int> visits(1000, 0);
        parallel_for_chunks(1000, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
        CHECK(visits == std::vector<int>(1000, 1));
        parallel_for_chunks(0, [&](std::int64_t) { visits.clear(); });
        parallel_for_chunks(-3, [&](std::int64_t) { visits.clear(); });
        CHECK(visits.size() == 1000);
    }
}

TEST_CASE("parallel: more chunks than a word of a shared loop can count") {
    const ThreadsGuard guard(2);
    constexpr std::int64_t kChunks = (std::int64_t{1} << 26) + 5;
    std::atomic<std::int64_t> sum{0};
    parallel_for_chunks(kChunks, [&](std::int64_t i) {
        if (i % (1 << 20) < 3) sum += i;
    });
    std::int64_t expected = 0;
    for (std::int64_t at = 0; at < kChunks; at += 1 << 20) expected += 3 * at + 3;
    CHECK(sum == expected);
}

TEST_CASE("parallel: two threads begin at the two ends") {
    const ThreadsGuard guard(2);
    parallel_for_chunks(2, [](std::int64_t) {});  // starts both threads
    std::atomic<int> inside{0};
    std::array<std::thread::id, 4> who;
    parallel_for_chunks(4, [&](std::int64_t i) {
        who[static_cast<std::size_t>(i)] = std::this_thread::get_id();
        ++inside;
        for (int wait = 0; wait < 60'000 && inside < 2; ++wait) {  // at most a minute
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
    CHECK(who[0] == std::this_thread::get_id());
    CHECK(who[3] != who[0]);
}

TEST_CASE("parallel: really on several threads") {
    const ThreadsGuard guard(2);
    std::atomic<int> inside{0};
    std::atomic<bool> together{false};
    parallel_for_chunks(2, [&](std::int64_t) {
        ++inside;
        for (int i = 0; i < 60'000 && !together;
             ++i) {  // waits for the other one, at most a minute
            if (inside == 2) together = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
    CHECK(together);
}

TEST_CASE("parallel: an exception is thrown again, the lowest chunk's") {
    for (const int threads : {1, 4}) {
        const ThreadsGuard guard(threads);
        for (int round = 0; round < 20; ++round) {
            check_throws<IndexError>(
                [] {
                    parallel_for_chunks(100, [](std::int64_t i) {
                        if (i >= 7) fail<IndexError>("chunk {}", i);
                    });
                },
                "chunk 7");
        }
        CHECK(chunks_of(25, 10).size() == 3);  // everything still works
    }
}

TEST_CASE("parallel: nested calls run serially on their own thread") {
    const ThreadsGuard guard(3);
    std::atomic<int> wrong{0};
    std::atomic<int> total{0};
    parallel_for_chunks(6, [&](std::int64_t) {
        const auto here = std::this_thread::get_id();
        std::int64_t next = 0;
        parallel_for_chunks(50, [&](std::int64_t i) {
            if (std::this_thread::get_id() != here || i != next++) ++wrong;
            ++total;
        });
    });
    CHECK(wrong == 0);
    CHECK(total == 300);
    check_throws<ValueError>(
        [] {
            parallel_for_chunks(4, [](std::int64_t) {
                parallel_for_chunks(4, [](std::int64_t) { fail("inner"); });
            });
        },
        "inner");
}

TEST_CASE("parallel: a thread's own number of threads") {
    const ThreadsGuard guard(3);
    {
        const OwnThreadsGuard own(2);
        CHECK(num_threads() == 2);
        int elsewhere = 0;
        std::thread([&] { elsewhere = num_threads(); }).join();
        CHECK(elsewhere == 3);
        {
            const OwnThreadsGuard inner(5);
            CHECK(num_threads() == 5);
            set_num_threads(4);
            CHECK(num_threads() == 4);
        }
        CHECK(num_threads() == 2);
        CHECK_THROWS_AS(OwnThreadsGuard(0), tapestry::ValueError);
        CHECK(num_threads() == 2);
    }
    CHECK(num_threads() == 4);
}

TEST_CASE("parallel: number of threads") {
    const ThreadsGuard guard(3);
    CHECK(num_threads() == 3);
    check_throws<ValueError>([] { set_num_threads(0); },
                             "set_num_threads: must be from 1 to 1024, got 0");
    check_throws<ValueError>([] { set_num_threads(-2); },
                             "set_num_threads: must be from 1 to 1024, got -2");
    check_throws<ValueError>([] { set_num_threads(1025); },
                             "set_num_threads: must be from 1 to 1024, got 1025");
    CHECK(num_threads() == 3);
}

TEST_CASE("parallel: child process" * doctest::skip()) {
    test::answer([] { return fmt::format("{}", num_threads()); });
}

TEST_CASE("parallel: TAPESTRY_THREADS") {
    const auto ask = [](const std::string& value) {
        return test::ask_child("parallel: child process", "TAPESTRY_THREADS", value);
    };
    if (!ask("3")) return test::skip("no child processes here");
    CHECK(ask("3") == "3");
    CHECK(ask("1024") == "1024");
    for (const char* wrong :
         {"", "0", "-1", "1025", "two", "2x", " 2", "+2", "2.0", "99999999999999999999"}) {
        CHECK(ask(wrong) ==
              fmt::format(
                  "ValueError TAPESTRY_THREADS={}: must be a number of threads from 1 to 1024",
                  wrong));
    }
}
