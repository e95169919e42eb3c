// Processes that work on one thing, and what they tell one another.
//
// There is one primitive, begin(): messages set out, and this process goes on until it looks
// whether they have arrived. exchange() is that and waiting; broadcasts and gathers are made of it.
// So whoever implements it (mpi.cpp for real processes, thread_group.cpp for tests) has one
// function to write, and nobody waits in a circle. No sum is ever left to the engine: what is
// added, and in which order, is the caller's. Read next: nn/data_parallel/data_parallel.h, what is
// exchanged in a training step.
#pragma once

#include <tapestry/core/error.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// Another process has ended, hangs, or cannot be reached any more.
class LostProcessError : public Error {
public:
    using Error::Error;
};

/// Between two processes messages of one channel keep their order. Channels from 0 to kChannels
/// - 1.
struct Sent {
    int to = 0;
    std::span<const std::byte> bytes = {};
    int channel = 0;
};

struct Received {
    int from = 0;
    std::span<std::byte> bytes = {};
    int channel = 0;
};

/// Messages that are under way while this process does something else. What they are sent from, and
/// received into, outlives this.
class Underway {
public:
    Underway() = default;
    virtual ~Underway() = default;
    Underway(const Underway&) = delete;
    Underway& operator=(const Underway&) = delete;

    /// Helps them along, without waiting. True, then and from then on: all have arrived, and what
    /// was sent may be changed.
    virtual bool advance() = 0;
    /// The processes that they still come from or go to.
    virtual std::vector<int> awaited() const = 0;
};

class Communicator {
public:
    static constexpr int kChannels = 30000;

    Communicator() = default;
    virtual ~Communicator() = default;
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    /// This process, from 0 to size() - 1.
    virtual int rank() const = 0;
    virtual int size() const = 0;
    /// The machine a process runs on, for messages and tables.
    virtual std::string host_of(int process) const = 0;
    std::string host() const { return host_of(rank()); }

    /// Sends and receives all of these at once. Both sides know how long a message is. Throws
    /// ValueError for a message to oneself or to nobody, and LostProcessError.
    std::unique_ptr<Underway> begin(std::span<const Sent> sent, std::span<const Received> received);

    /// Returns when everything has arrived and what was sent may be changed. `what` is what a
    /// process waits for, should it wait in vain. Throws LostProcessError.
    void wait(Underway& messages, std::string_view what);

    /// begin(), and wait().
    void exchange(std::span<const Sent> sent, std::span<const Received> received,
                  std::string_view what);

    /// After so many seconds without a sign of life from a process that is waited for, wait()
    /// throws a LostProcessError that names it. A process that waits itself answers; one that
    /// computes does not. One that was itself away for a quarter of the time (stopped, or without a
    /// processor) blames nobody for what it has missed, and waits anew. 0: never.
    /// The same in all processes.
    void set_timeout(double seconds) { timeout_ = seconds; }
    double timeout() const { return timeout_; }

    /// From now on whatever arrives here is there only so many seconds after it was noticed: a
    /// network that is slower than this one, for measurements. Throws ValueError if it is negative.
    void set_latency(double seconds);

    /// What has been sent so far, and the time that wait() took.
    std::uint64_t bytes_sent() const { return bytes_sent_; }
    double seconds() const { return seconds_; }

protected:
    virtual std::unique_ptr<Underway> start(std::span<const Sent> sent,
                                            std::span<const Received> received) = 0;

    /// While nothing arrives: after a few looks, lets others run.
    virtual void nap();
    /// For a process that waits: asks these processes whether they are there, and answers those
    /// that ask it. heard() are those that have answered since. Nothing is asked without a timeout.
    virtual void ask(std::span<const int> processes) = 0;
    virtual std::vector<int> heard() = 0;
    /// Has one of them said that it ends all? It does not answer then, and is not to blame.
    virtual bool are_ending() { return false; }

private:
    void check(int process, int channel) const;
    void wait_for(Underway& messages, std::string_view what);

    double timeout_ = 0;
    double latency_ = 0;
    std::uint64_t bytes_sent_ = 0;
    double seconds_ = 0;
};

/// One process alone: nothing to send.
class OneProcess final : public Communicator {
public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    std::string host_of(int) const override;

private:
    std::unique_ptr<Underway> start(std::span<const Sent>, std::span<const Received>) override;
    void ask(std::span<const int>) override {}
    std::vector<int> heard() override { return {}; }
};

// In all of these `what` is exchange()'s.

/// Everybody has what `root` had in `bytes`, which is of one length everywhere.
void broadcast(Communicator& communicator, int root, std::span<std::byte> bytes,
               std::string_view what);
/// The same of a text, whose length `root` alone knows.
void broadcast(Communicator& communicator, int root, std::string& text, std::string_view what);

/// Process p's text is number p of the result, everywhere.
std::vector<std::string> all_gather(Communicator& communicator, std::string_view mine,
                                    std::string_view what);

/// Process p's numbers, counts[p] of them, are number p of the result, everywhere.
std::vector<std::vector<double>> all_gather(Communicator& communicator,
                                            const std::vector<double>& mine,
                                            const std::vector<std::size_t>& counts,
                                            std::string_view what);

/// Returns when all have come here.
void barrier(Communicator& communicator, std::string_view what);

}  // namespace tapestry
