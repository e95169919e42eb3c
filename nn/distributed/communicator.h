// Processes that work on one thing, and what they tell one another.
//
// There is one primitive, exchange(): everything that a process sends and receives at one moment.
// Broadcasts and gathers are made of it, so that whoever implements it (mpi.cpp for real processes,
// thread_group.cpp for tests) has one function to write, and nobody waits in a circle. No sum is
// ever left to the engine: what is added, and in which order, is the caller's.
// Read next: nn/train/data_parallel.h, what is exchanged in a training step.
#pragma once

#include <tapestry/core/error.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// Another process has ended, or cannot be reached any more.
class LostProcessError : public Error {
public:
    using Error::Error;
};

struct Sent {
    int to = 0;
    std::span<const std::byte> bytes = {};
};

struct Received {
    int from = 0;
    std::span<std::byte> bytes = {};
};

class Communicator {
public:
    Communicator() = default;
    virtual ~Communicator() = default;
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    /// This process, from 0 to size() - 1.
    virtual int rank() const = 0;
    virtual int size() const = 0;
    /// The machine this process runs on, for messages and tables.
    virtual std::string host() const = 0;

    /// Sends and receives all of these at once, and returns when everything has arrived and what
    /// was sent may be changed. Both sides know how long a message is; between two processes
    /// messages keep their order. Throws ValueError for a message to oneself or to nobody, and
    /// LostProcessError.
    void exchange(std::span<const Sent> sent, std::span<const Received> received);

    /// What exchange() has sent so far, and the time it took.
    std::uint64_t bytes_sent() const { return bytes_sent_; }
    double seconds() const { return seconds_; }

protected:
    virtual void transfer(std::span<const Sent> sent, std::span<const Received> received) = 0;

private:
    void check(int process) const;
    std::uint64_t bytes_sent_ = 0;
    double seconds_ = 0;
};

/// One process alone: nothing to send.
class OneProcess final : public Communicator {
public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    std::string host() const override;

private:
    void transfer(std::span<const Sent>, std::span<const Received>) override {}
};

/// Everybody has what `root` had in `bytes`, which is of one length everywhere.
void broadcast(Communicator& communicator, int root, std::span<std::byte> bytes);
/// The same of a text, whose length `root` alone knows.
void broadcast(Communicator& communicator, int root, std::string& text);

/// Process p's text is number p of the result, everywhere.
std::vector<std::string> all_gather(Communicator& communicator, std::string_view mine);

/// Process p's numbers, counts[p] of them, are number p of the result, everywhere.
std::vector<std::vector<double>> all_gather(Communicator& communicator,
                                            const std::vector<double>& mine,
                                            const std::vector<std::size_t>& counts);

/// Returns when all have come here.
void barrier(Communicator& communicator);

}  // namespace tapestry
