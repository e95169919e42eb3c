#include <tapestry/nn/distributed/thread_group.h>

#include <tapestry/core/clock.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

namespace tapestry {
namespace {

using Bytes = std::vector<std::byte>;

struct Message {
    Bytes bytes;
    Clock::time_point arrives;
};

// Messages in flight between all processes.
struct Post {
    Post(int processes, const Network& between)
        : size(processes),
          network(between),
          napped(static_cast<std::size_t>(processes)),
          left(static_cast<std::size_t>(processes)) {}

    std::deque<Message>& box(int from, int to, int channel) { return boxes[{from, to, channel}]; }

    void send(int from, const Sent& one) {
        Clock::time_point& free = left[static_cast<std::size_t>(from)];
        free = std::max(free, Clock::now());
        if (network.bytes_per_second > 0) {
            const std::chrono::duration<double> takes(static_cast<double>(one.bytes.size()) /
                                                      network.bytes_per_second);
            free += std::chrono::duration_cast<Clock::duration>(takes);
        }
        box(from, one.to, one.channel).push_back({Bytes(one.bytes.begin(), one.bytes.end()), free});
    }

    const int size;
    const Network network;
    std::mutex mutex;
    std::condition_variable arrived;
    std::map<std::array<int, 3>, std::deque<Message>> boxes;
    std::vector<Clock::time_point> napped;  // when each process last waited
    std::vector<Clock::time_point> left;    // when everything that it sent has left
    int lost = -1;                          // process that threw
    std::exception_ptr error;
};

class ThreadUnderway final : public Underway {
public:
    ThreadUnderway(Post& post, int rank, std::span<const Sent> sent,
                   std::span<const Received> received)
        : post_(post), rank_(rank), awaited_(received.begin(), received.end()) {
        const std::lock_guard lock(post_.mutex);
        for (const Sent& one : sent) post_.send(rank_, one);
        post_.arrived.notify_all();
    }

    bool advance() override {
        const std::lock_guard lock(post_.mutex);
        std::erase_if(awaited_, [this](const Received& one) { return take(one); });
        require<LostProcessError>(awaited_.empty() || post_.lost < 0, "process {} has ended",
                                  post_.lost);
        return awaited_.empty();
    }

    std::vector<int> awaited() const override {
        std::vector<int> from;
        for (const Received& one : awaited_) from.push_back(one.from);
        return from;
    }

private:
    bool take(const Received& one) {
        std::deque<Message>& box = post_.box(one.from, rank_, one.channel);
        if (box.empty() || box.front().arrives > Clock::now()) return false;
        const Bytes& bytes = box.front().bytes;
        require(bytes.size() == one.bytes.size(),
                "exchange: process {} sent {} bytes; process {} waits for {}", one.from,
                bytes.size(), rank_, one.bytes.size());
        std::copy(bytes.begin(), bytes.end(), one.bytes.begin());
        box.pop_front();
        return true;
    }

    Post& post_;
    int rank_;
    std::vector<Received> awaited_;
};

class ThreadCommunicator final : public Communicator {
public:
    ThreadCommunicator(Post& post, int rank) : post_(post), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return post_.size; }
    std::string host_of(int) const override { return OneProcess().host(); }

private:
    std::unique_ptr<Underway> start(std::span<const Sent> sent,
                                    std::span<const Received> received) override {
        return std::make_unique<ThreadUnderway>(post_, rank_, sent, received);
    }

    // Sleeps until a message is sent to any process, but not for long, because it may have arrived
    // before. With a simulated network, naps are short so as not to add to its latency.
    void nap() override {
        std::unique_lock lock(post_.mutex);
        post_.napped[static_cast<std::size_t>(rank_)] = Clock::now();
        const bool at_once = post_.network.latency == 0 && post_.network.bytes_per_second == 0;
        post_.arrived.wait_for(lock, std::chrono::microseconds(at_once ? 1000 : 20));
    }

    void ask(std::span<const int> processes) override {
        asked_.assign(processes.begin(), processes.end());
        asked_at_ = Clock::now();
    }

    std::vector<int> heard() override {
        const std::lock_guard lock(post_.mutex);
        std::vector<int> answered;
        for (const int p : asked_) {
            if (post_.napped[static_cast<std::size_t>(p)] > asked_at_) answered.push_back(p);
        }
        return answered;
    }

    Post& post_;
    int rank_;
    std::vector<int> asked_;
    Clock::time_point asked_at_ = {};
};

// Called in an exception handler: reports the exception to the others.
void lose(Post& post, int rank) {
    const std::lock_guard lock(post.mutex);
    if (post.lost < 0) {
        post.lost = rank;
        post.error = std::current_exception();
    }
    post.arrived.notify_all();
}

void run_one(Post& post, int rank, const std::function<void(Communicator&)>& program) {
    try {
        ThreadCommunicator communicator(post, rank);
        communicator.set_latency(post.network.latency);
        program(communicator);
    } catch (...) {
        lose(post, rank);
    }
}

}  // namespace

void run_in_threads(int size, const std::function<void(Communicator&)>& program,
                    const Network& network) {
    require(size >= 1, "run_in_threads: processes must be at least 1, got {}", size);
    require(network.latency >= 0 && network.bytes_per_second >= 0,
            "run_in_threads: a latency of {} s and {} bytes per second; neither can be negative",
            network.latency, network.bytes_per_second);
    Post post(size, network);
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(size));
    for (int rank = 0; rank < size; ++rank) {
        try {
            threads.emplace_back([&post, &program, rank] { run_one(post, rank, program); });
        } catch (...) {  // no more threads: running ones must not wait for it
            lose(post, rank);
            break;
        }
    }
    for (std::thread& thread : threads) thread.join();
    if (post.error) std::rethrow_exception(post.error);
}

}  // namespace tapestry
