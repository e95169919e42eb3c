// What processes tell one another, with threads as processes.
#include <tapestry/nn/distributed/thread_group.h>
#include <tapestry/tests/nn/support.h>

using namespace tapestry;
using test::check_throws;

TEST_CASE("communicator: broadcast and gather, for any number of processes") {
    for (const int size : {1, 2, 3, 7}) {
        run_in_threads(size, [&](Communicator& c) {
            std::string text = c.rank() == size - 1 ? "said by the last" : "?";
            broadcast(c, size - 1, text);
            require(text == "said by the last", "process {} heard {}", c.rank(), text);
            const auto all = all_gather(c, std::string(static_cast<std::size_t>(c.rank()), 'x'));
            for (std::size_t p = 0; p < all.size(); ++p) {
                require(all[p] == std::string(p, 'x'), "process {} sent {}", p, all[p]);
            }
            barrier(c);
        });
    }
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
        c.exchange(sent, received);
        require(theirs == mine, "out of order");
        require(c.bytes_sent() == 24, "{} bytes", c.bytes_sent());
        const Sent to_self{c.rank(), {}};
        check_throws<ValueError>(
            [&] {
                c.exchange({&to_self, 1}, {});
            },
            fmt::format("exchange: process {0} of 2 cannot talk to process "
                        "{0}",
                        c.rank()));
    });
}

TEST_CASE("communicator: whoever waits for a process that has ended is told") {
    std::string heard;
    const auto run = [&] {
        run_in_threads(3, [&](Communicator& c) {
            if (c.rank() == 1) fail("no disk");
            try {
                barrier(c);
            } catch (const LostProcessError& error) {
                if (c.rank() == 0) heard = error.what();
                throw;
            }
        });
    };
    check_throws<ValueError>(run, "no disk");
    CHECK_EQ(heard, "process 1 has ended");
}
