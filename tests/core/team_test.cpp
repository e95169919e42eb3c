// Team: f stays on its thread, loops in it are shared, late or sleeping threads cost nothing but
// time.
#include "support.h"

#include <tapestry/core/parallel.h>
#include <tapestry/core/team.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>

using namespace tapestry;
using tapestry::test::check_throws;

namespace {

// Each chunk once, and the threads that did them.
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

}  // namespace

TEST_CASE("team: f runs on the calling thread, which leads") {
    for (const int threads : {1, 2, 5}) {
        const ThreadsGuard guard(threads);
        const auto here = std::this_thread::get_id();
        bool ran = false;
        CHECK_FALSE(Team::is_leader());
        Team::run([&] {
            ran = true;
            CHECK(std::this_thread::get_id() == here);
            CHECK(Team::is_leader() == (threads > 1));
            Team::run([&] { CHECK(Team::is_leader() == (threads > 1)); });
        });
        CHECK(ran);
        CHECK_FALSE(Team::is_leader());
    }
}

TEST_CASE("team: thousands of loops, each chunk once") {
    for (const int threads : {2, 3}) {
        const ThreadsGuard guard(threads);
        Team::run([&] {
            for (std::int64_t round = 0; round < 3000; ++round) check_loop(1 + round % 40);
        });
    }
}

TEST_CASE("team: loops are really shared, also after threads have gone to sleep") {
    const ThreadsGuard guard(2);
    Team::run([&] {
        for (int round = 0; round < 2; ++round) {
            std::atomic<int> inside{0};
            std::atomic<bool> together{false};
            parallel_for_chunks(2, [&](std::int64_t) {
                ++inside;
                for (int i = 0; i < 2000 && !together; ++i) {  // for the other one, 2 s at most
                    if (inside == 2) together = true;
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
            });
            CHECK(together);
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    });
}

TEST_CASE("team: fewer threads for a while") {
    const ThreadsGuard guard(3);
    Team::run([&] {
        const ThreadsGuard alone(1);
        CHECK(check_loop(50) == std::set{std::this_thread::get_id()});
        set_num_threads(2);
        for (int round = 0; round < 200; ++round) CHECK(check_loop(20).size() <= 2);
    });
}

TEST_CASE("team: exceptions of f and of a loop come out, and all works on") {
    const ThreadsGuard guard(3);
    for (int round = 0; round < 20; ++round) {
        check_throws<IndexError>([] { Team::run([] { fail<IndexError>("of f"); }); }, "of f");
        check_throws<ValueError>(
            [] {
                Team::run([] {
                    parallel_for_chunks(100, [](std::int64_t i) {
                        if (i >= 7) fail("chunk {}", i);
                    });
                });
            },
            "chunk 7");
        Team::run([] {
            check_throws<ValueError>(
                [] { parallel_for_chunks(5, [](std::int64_t i) { fail("chunk {}", i); }); },
                "chunk 0");
            check_loop(100);
        });
    }
}

TEST_CASE("team: another thread's loops are its own") {
    const ThreadsGuard guard(2);
    Team::run([&] {
        std::thread other([] {
            CHECK_FALSE(Team::is_leader());
            Team::run([] { check_loop(100); });
        });
        check_loop(100);
        other.join();
    });
}

TEST_CASE("team: inside a chunk it is just f") {
    const ThreadsGuard guard(3);
    std::atomic<int> here_run{0};
    std::atomic<int> elsewhere{0};
    parallel_for_chunks(6, [&](std::int64_t) {
        const auto here = std::this_thread::get_id();
        Team::run([&] {
            parallel_for_chunks(20, [&](std::int64_t) {
                ++(std::this_thread::get_id() == here ? here_run : elsewhere);
            });
        });
    });
    CHECK(here_run == 6 * 20);
    CHECK(elsewhere == 0);
}
