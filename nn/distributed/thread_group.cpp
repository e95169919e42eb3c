#include <tapestry/nn/distributed/thread_group.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

namespace tapestry {
namespace {

using Bytes = std::vector<std::byte>;

// What is on its way, from everybody to everybody.
struct Post {
    explicit Post(int processes)
        : size(processes), boxes(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)) {}

    std::deque<Bytes>& box(int from, int to) {
        return boxes[static_cast<std::size_t>(from) * static_cast<std::size_t>(size) +
                     static_cast<std::size_t>(to)];
    }

    const int size;
    std::mutex mutex;
    std::condition_variable arrived;
    std::vector<std::deque<Bytes>> boxes;
    int lost = -1;  // a process that threw
    std::exception_ptr error;
};

class ThreadCommunicator final : public Communicator {
public:
    ThreadCommunicator(Post& post, int rank) : post_(post), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return post_.size; }
    std::string host() const override { return OneProcess().host(); }

private:
    void transfer(std::span<const Sent> sent, std::span<const Received> received) override {
        std::unique_lock lock(post_.mutex);
        for (const Sent& one : sent) {
            post_.box(rank_, one.to).emplace_back(one.bytes.begin(), one.bytes.end());
        }
        post_.arrived.notify_all();
        for (const Received& one : received) {
            std::deque<Bytes>& box = post_.box(one.from, rank_);
            post_.arrived.wait(lock, [&] { return !box.empty() || post_.lost >= 0; });
            require<LostProcessError>(!box.empty(), "process {} has ended", post_.lost);
            require(box.front().size() == one.bytes.size(),
                    "exchange: process {} sent {} bytes; process {} waits for {}", one.from,
                    box.front().size(), rank_, one.bytes.size());
            std::copy(box.front().begin(), box.front().end(), one.bytes.begin());
            box.pop_front();
        }
    }

    Post& post_;
    int rank_;
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
