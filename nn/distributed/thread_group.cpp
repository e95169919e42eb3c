#include <tapestry/nn/distributed/thread_group.h>

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

using Clock = std::chrono::steady_clock;

// What is on its way, from everybody to everybody.
struct Post {
    explicit Post(int processes) : size(processes), napped(static_cast<std::size_t>(processes)) {}

    std::deque<Bytes>& box(int from, int to, int channel) { return boxes[{from, to, channel}]; }

    const int size;
    std::mutex mutex;
    std::condition_variable arrived;
    std::map<std::array<int, 3>, std::deque<Bytes>> boxes;
    std::vector<Clock::time_point> napped;  // when each process has last waited
    int lost = -1;                          // a process that threw
    std::exception_ptr error;
};

class ThreadUnderway final : public Underway {
public:
    ThreadUnderway(Post& post, int rank, std::span<const Sent> sent,
                   std::span<const Received> received)
        : post_(post), rank_(rank), awaited_(received.begin(), received.end()) {
        const std::lock_guard lock(post_.mutex);
        for (const Sent& one : sent) {
            post_.box(rank_, one.to, one.channel).emplace_back(one.bytes.begin(), one.bytes.end());
        }
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
        std::deque<Bytes>& box = post_.box(one.from, rank_, one.channel);
        if (box.empty()) return false;
        require(box.front().size() == one.bytes.size(),
                "exchange: process {} sent {} bytes; process {} waits for {}", one.from,
                box.front().size(), rank_, one.bytes.size());
        std::copy(box.front().begin(), box.front().end(), one.bytes.begin());
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

    // Until something arrives for somebody; no longer, for it may have been there already.
    void nap() override {
        std::unique_lock lock(post_.mutex);
        post_.napped[static_cast<std::size_t>(rank_)] = Clock::now();
        post_.arrived.wait_for(lock, std::chrono::milliseconds(1));
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

void run_one(Post& post, int rank, const std::function<void(Communicator&)>& program) {
    try {
        ThreadCommunicator communicator(post, rank);
        program(communicator);
    } catch (...) {
        const std::lock_guard lock(post.mutex);
        if (post.lost < 0) {
            post.lost = rank;
            post.error = std::current_exception();
        }
        post.arrived.notify_all();
    }
}

}  // namespace

void run_in_threads(int size, const std::function<void(Communicator&)>& program) {
    require(size >= 1, "run_in_threads: {} processes; at least 1 is needed", size);
    Post post(size);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
        threads.emplace_back([&post, &program, rank] { run_one(post, rank, program); });
    }
    for (std::thread& thread : threads) thread.join();
    if (post.error) std::rethrow_exception(post.error);
}

}  // namespace tapestry
