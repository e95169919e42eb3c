// Communication between processes, with threads as processes.
#include <tapestry/nn/distributed/thread_group.h>
#include <tapestry/tests/core/scarce_memory.h>
#include <tapestry/tests/nn/support.h>
#include <tapestry/tests/skip.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

using namespace tapestry;
using test::check_throws;

TEST_CASE("communicator: broadcast and gather, for any number of processes") {
    for (const int size : {1, 2, 3, 7}) {
        run_in_threads(size, [&](Communicator& c) {
            std::string text = c.rank() == size - 1 ? "said by the last" : "?";
            broadcast(c, size - 1, text, "a text");
            require(text == "said by the last", "process {} heard {}", c.rank(), text);
            const auto all =
                all_gather(c, std::string(static_cast<std::size_t>(c.rank()), 'x'), "x");
            for (std::size_t p = 0; p < all.size(); ++p) {
                require(all[p] == std::string(p, 'x'), "process {} sent {}", p, all[p]);
            }
            barrier(c, "the others");
        });
    }
}

TEST_CASE("communicator: fewer threads than processes are an error, and none waits" *
          doctest::skip(test::kAddressSanitizer)) {
    const pid_t child = fork();
    REQUIRE_GE(child, 0);
    if (child == 0) {
        if (!test::limit_address_space(std::size_t{256} << 20)) _exit(77);
        try {  // the stacks of 1000 threads take 8 GB
            run_in_threads(1000, [](Communicator& c) { barrier(c, "the others"); });
            _exit(1);
        } catch (const std::exception&) {
            _exit(0);
        }
    }
    int status = 0;
    REQUIRE_EQ(waitpid(child, &status, 0), child);
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) return test::skip("the address space cannot be limited here");
    CHECK_EQ(WEXITSTATUS(status), 0);
}

TEST_CASE("communicator: messages keep their order, and what was sent is counted") {
    run_in_threads(2, [](Communicator& c) {
        const std::vector<std::uint64_t> mine{1, 2, 3};
        std::vector<std::uint64_t> theirs(3);
        std::vector<Sent> sent;
        std::vector<Received> received;
        for (std::size_t i = 0; i < 3; ++i) {
            sent.push_back({1 - c.rank(), std::as_bytes(std::span(&mine[i], 1))});
            received.push_back({1 - c.rank(), std::as_writable_bytes(std::span(&theirs[i], 1))});
        }
        c.exchange(sent, received, "numbers");
        require(theirs == mine, "out of order");
        require(c.bytes_sent() == 24, "{} bytes", c.bytes_sent());
        const Sent to_self{c.rank(), {}};
        check_throws<ValueError>(
            [&] {
                c.exchange({&to_self, 1}, {}, "oneself");
            },
            fmt::format("exchange: process {0} of 2 cannot talk to process "
                        "{0}",
                        c.rank()));
    });
}

TEST_CASE("communicator: waiting for a process that has ended is an error") {
    std::string heard;
    const auto run = [&] {
        run_in_threads(3, [&](Communicator& c) {
            if (c.rank() == 1) fail("no disk");
            try {
                barrier(c, "the others");
            } catch (const LostProcessError& error) {
                if (c.rank() == 0) heard = error.what();
                throw;
            }
        });
    };
    check_throws<ValueError>(run, "no disk");
    CHECK_EQ(heard, "process 1 has ended");
}

namespace {

void hand(Communicator& c, int from, int to, std::string_view what) {
    std::byte byte{};
    const Sent sent{to, {&byte, 1}};
    const Received received{from, {&byte, 1}};
    if (c.rank() == from) c.exchange({&sent, 1}, {}, what);
    if (c.rank() == to) c.exchange({}, {&received, 1}, what);
}

void sleep(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace

TEST_CASE("communicator: who does not answer is named, with what he was waited for") {
    std::mutex mutex;
    std::atomic<bool> blamed = false;
    std::vector<std::string> messages(3);
    const auto run = [&] {
        run_in_threads(3, [&](Communicator& c) {
            // A thread may wait a second for a processor: 0 must not blame 1 for that.
            c.set_timeout(c.rank() == 1 ? 1 : 600);
            try {  // 0 waits for 1, which waits for 2, which is busy until blamed
                for (int i = 0; c.rank() == 2 && !blamed && i < 30'000; ++i) sleep(10);
                hand(c, 2, 1, "the first");
                hand(c, 1, 0, "the second");
            } catch (const LostProcessError& error) {
                const std::lock_guard lock(mutex);
                messages[static_cast<std::size_t>(c.rank())] = error.what();
                blamed = true;
                throw;
            }
        });
    };
    CHECK_THROWS_AS(run(), LostProcessError);
    CHECK_EQ(messages[1],
             fmt::format("process 2 on {} has not answered for 1 s; waited for: the first",
                         OneProcess().host()));
    CHECK_EQ(messages[0], "process 1 has ended");
}

TEST_CASE("communicator: a waiting process is not lost, no matter how long it waits") {
    const auto is_lost = [](double timeout) {
        try {
            run_in_threads(3, [timeout](Communicator& c) {
                c.set_timeout(timeout);
                for (int i = 0; i < 35; ++i) {
                    if (c.rank() == 2) sleep(static_cast<int>(1000 * timeout / 30));
                    hand(c, 2, 1, "a part");
                }
                hand(c, 1, 0, "the end");  // 0 has waited longer than the timeout for this
            });
            return false;
        } catch (const LostProcessError&) {
            return true;
        }
    };
    // Who gets no processor for half of the timeout cannot answer: on a busy machine it is longer.
    double timeout = 1;
    while (timeout < 60 && is_lost(timeout)) timeout *= 2;
    CHECK_LT(timeout, 60);
}

namespace {

// Process 0 of two; the other never answers. Times are seconds from the start.
class Deserted final : public Communicator {
public:
    double arrives = 0;  // when the awaited message arrives
    double away = 0;     // how long it pauses once, after asking
    bool ending = false;
    int asked = 0;

    double now() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }
    int rank() const override { return 0; }
    int size() const override { return 2; }
    std::string host_of(int) const override { return "alpha"; }

private:
    struct Message final : Underway {
        explicit Message(const Deserted& c) : communicator(c) {}
        bool advance() override { return communicator.now() >= communicator.arrives; }
        std::vector<int> awaited() const override { return {1}; }
        const Deserted& communicator;
    };
    std::unique_ptr<Underway> start(std::span<const Sent>, std::span<const Received>) override {
        return std::make_unique<Message>(*this);
    }
    void ask(std::span<const int>) override {
        if (asked++ == 0) sleep(static_cast<int>(1000 * away));
    }
    std::vector<int> heard() override { return {}; }
    bool are_ending() override { return ending; }

    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

TEST_CASE("communicator: who was away himself waits anew before he blames others") {
    const auto wait = [](double away, double arrives) {
        Deserted c;
        c.set_timeout(0.4);  // asks after 0.2 s
        c.away = away;
        c.arrives = arrives;
        c.exchange({}, {}, "a part");
        return c.now();
    };
    CHECK(wait(0.5, 0.8) >= 0.8);
    check_throws<LostProcessError>(
        [&] { wait(0.5, 1e9); },
        "process 1 on alpha has not answered for 0.4 s; waited for: a part");
}

TEST_CASE("communicator: while all are being ended, none is blamed") {
    Deserted c;
    c.set_timeout(0.2);
    c.ending = true;
    c.arrives = 0.6;
    c.exchange({}, {}, "a part");
    CHECK_EQ(c.asked, 0);
}

TEST_CASE("communicator: a network's latency, which messages share, and its bandwidth") {
    // A 20 kB message is sent in 0.02 s and arrives 0.2 s later; others follow every 0.02 s.
    const Network network{.latency = 0.2, .bytes_per_second = 1e6};
    const auto took = [&](std::size_t messages) {
        std::chrono::steady_clock::time_point begun, done;  // sending, by 0; receiving, by 1
        run_in_threads(
            2,
            [&](Communicator& c) {
                const std::vector<std::byte> sent_bytes(20000, std::byte{7});
                std::vector<std::vector<std::byte>> bytes(messages, std::vector<std::byte>(20000));
                std::vector<Received> received;
                for (auto& one : bytes) received.push_back({0, one});
                barrier(c, "the other");
                if (c.rank() == 0) {
                    begun = std::chrono::steady_clock::now();
                    c.exchange(std::vector<Sent>(messages, {1, sent_bytes}), {}, "bytes");
                } else {
                    c.exchange({}, received, "bytes");
                    done = std::chrono::steady_clock::now();
                    for (const auto& one : bytes) require(one == sent_bytes, "other bytes");
                }
            },
            network);
        return std::chrono::duration<double>(done - begun).count();
    };
    CHECK(took(1) > 0.2);
    double three = 1e9;  // the least of several: a thread may have to wait for a processor
    for (int tries = 0; tries < 20 && three >= 0.5; ++tries) three = std::min(three, took(3));
    CHECK(three > 0.24);
    CHECK(three < 0.5);  // a single latency in all
    check_throws<ValueError>(
        [] { run_in_threads(1, [](Communicator&) {}, {.latency = -1}); },
        "run_in_threads: a latency of -1 s and 0 bytes per second; neither can be negative");
    check_throws<ValueError>([] { OneProcess().set_latency(-1); },
                             "communicator: latency must be >= 0, got -1 s");
}
