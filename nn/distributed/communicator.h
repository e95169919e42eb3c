// Communication between the processes of one job.
//
// There is one primitive, begin(): it starts messages and returns; the caller polls for their
// completion. exchange() starts and waits; broadcasts and gathers are built from it. So an
// implementation (mpi.cpp for real processes, thread_group.cpp for tests) has one function to
// provide, and processes never deadlock in a cycle. The engine never sums: which values are added,
// and in which order, is up to the caller. Read next: nn/data_parallel/data_parallel.h, the
// exchanges of a training step.
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

/// Another process has ended, hangs, or cannot be reached.
class LostProcessError : public Error {
public:
    using Error::Error;
};

/// Between two processes, messages on one channel keep their order. Channels are 0 to kChannels -
/// 1.
struct Sent {
    int to = 0;                             ///< process
    std::span<const std::byte> bytes = {};  ///< the message
    int channel = 0;                        ///< 0 to kChannels - 1
};

/// Where to put the next message from a process on a channel.
struct Received {
    int from = 0;                     ///< process
    std::span<std::byte> bytes = {};  ///< filled by the message, of exactly its length
    int channel = 0;                  ///< 0 to kChannels - 1
};

/// Messages in flight. The buffers that they are sent from and received into must outlive this.
class Underway {
public:
    Underway() = default;
    virtual ~Underway() = default;
    Underway(const Underway&) = delete;
    Underway& operator=(const Underway&) = delete;

    /// Makes progress without blocking. Returns true once all messages have arrived and the sent
    /// buffers may be changed, and on every later call.
    virtual bool advance() = 0;
    /// The processes with which messages are still in flight.
    virtual std::vector<int> awaited() const = 0;
};

/// The processes of a job, as one of them sees them.
class Communicator {
public:
    static constexpr int kChannels = 30000;  ///< number of channels between two processes

    Communicator() = default;
    virtual ~Communicator() = default;
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    /// This process, 0 to size() - 1.
    virtual int rank() const = 0;
    /// Number of processes, this one included.
    virtual int size() const = 0;
    /// The machine that a process runs on, for messages and tables.
    virtual std::string host_of(int process) const = 0;
    std::string host() const { return host_of(rank()); }  ///< the machine that this process runs on

    /// Starts all of these at once. Both sides know the length of each message. Throws ValueError
    /// for a message to this process itself or to one that does not exist, and LostProcessError.
    std::unique_ptr<Underway> begin(std::span<const Sent> sent, std::span<const Received> received);

    /// Blocks until everything has arrived and the sent buffers may be changed. `what` describes
    /// the exchange in error messages. Throws LostProcessError.
    void wait(Underway& messages, std::string_view what);

    /// begin() and wait().
    void exchange(std::span<const Sent> sent, std::span<const Received> received,
                  std::string_view what);

    /// Timeout, in seconds: if an awaited process gives no sign of life for that long, wait()
    /// throws a LostProcessError that names it. A process that is itself waiting answers; one that
    /// is computing does not. A process that was itself suspended for a quarter of that time
    /// (stopped, or without a CPU) restarts its wait, because it may have missed answers. 0: wait
    /// forever. Set the same value on all processes.
    void set_timeout(double seconds) { timeout_ = seconds; }
    double timeout() const { return timeout_; }  ///< in seconds; 0: none

    /// Delays every arrival by this many seconds after it was noticed, to simulate a slower network
    /// in measurements. Throws ValueError if negative.
    void set_latency(double seconds);

    /// Bytes sent so far, and seconds spent in wait().
    std::uint64_t bytes_sent() const { return bytes_sent_; }
    double seconds() const { return seconds_; }  ///< seconds spent in wait()

protected:
    /// Starts the messages of begin(), which has checked the processes.
    virtual std::unique_ptr<Underway> start(std::span<const Sent> sent,
                                            std::span<const Received> received) = 0;

    /// Called while nothing arrives: after polling a few times, yields the CPU.
    virtual void nap();
    /// For a waiting process: asks these processes for a sign of life, and answers those that ask.
    /// heard() returns those that have answered since. Without a timeout nothing is asked.
    virtual void ask(std::span<const int> processes) = 0;
    /// The processes that have answered since the last call.
    virtual std::vector<int> heard() = 0;
    /// Whether a process has announced that it is ending the job; it will not answer, and is not
    /// lost.
    virtual bool are_ending() { return false; }

private:
    void check(int process, int channel) const;
    void wait_for(Underway& messages, std::string_view what);

    double timeout_ = 0;
    double latency_ = 0;
    std::uint64_t bytes_sent_ = 0;
    double seconds_ = 0;
};

/// A single process: nothing to send.
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

// In all of these, `what` is as in exchange().

/// Copies `root`'s `bytes` to all processes; the length must be the same everywhere.
void broadcast(Communicator& communicator, int root, std::span<std::byte> bytes,
               std::string_view what);
/// The same for a string, whose length only `root` knows.
void broadcast(Communicator& communicator, int root, std::string& text, std::string_view what);

/// Element p of the result, on every process, is process p's string.
std::vector<std::string> all_gather(Communicator& communicator, std::string_view mine,
                                    std::string_view what);

/// Element p of the result, on every process, is process p's counts[p] numbers.
std::vector<std::vector<double>> all_gather(Communicator& communicator,
                                            const std::vector<double>& mine,
                                            const std::vector<std::size_t>& counts,
                                            std::string_view what);

/// Returns when all processes have called it.
void barrier(Communicator& communicator, std::string_view what);

}  // namespace tapestry
