#include <tapestry/nn/distributed/communicator.h>

#include <tapestry/core/clock.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace tapestry {

namespace {

// A single process has nothing to wait for.
struct Nothing final : Underway {
    bool advance() override { return true; }
    std::vector<int> awaited() const override { return {}; }
};

// Delays messages after their arrival.
class Later final : public Underway {
public:
    Later(std::unique_ptr<Underway> messages, double seconds)
        : messages_(std::move(messages)), seconds_(seconds) {}

    bool advance() override {
        if (!arrived_ && messages_->advance()) arrived_ = Clock::now();
        return arrived_ && seconds_since(*arrived_) >= seconds_;
    }
    std::vector<int> awaited() const override { return messages_->awaited(); }

private:
    std::unique_ptr<Underway> messages_;
    double seconds_;
    std::optional<Clock::time_point> arrived_;
};

std::vector<int> each_once(std::vector<int> processes) {
    std::sort(processes.begin(), processes.end());
    processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
    return processes;
}

// Removes from `silent` the processes that have answered or are no longer awaited.
void keep_silent(std::vector<int>& silent, const std::vector<int>& answered,
                 const std::vector<int>& awaited) {
    const auto has = [](const std::vector<int>& all, int p) {
        return std::find(all.begin(), all.end(), p) != all.end();
    };
    std::erase_if(silent, [&](int p) { return has(answered, p) || !has(awaited, p); });
}

}  // namespace

void Communicator::check(int process, int channel) const {
    require(process >= 0 && process < size() && process != rank(),
            "exchange: process {} of {} cannot talk to process {}", rank(), size(), process);
    require(channel >= 0 && channel < kChannels, "exchange: channel {} of {}", channel, kChannels);
}

std::unique_ptr<Underway> Communicator::begin(std::span<const Sent> sent,
                                              std::span<const Received> received) {
    for (const Sent& one : sent) check(one.to, one.channel);
    for (const Received& one : received) check(one.from, one.channel);
    for (const Sent& one : sent) bytes_sent_ += one.bytes.size();
    std::unique_ptr<Underway> messages = start(sent, received);
    if (latency_ == 0 || received.empty()) return messages;
    return std::make_unique<Later>(std::move(messages), latency_);
}

void Communicator::set_latency(double seconds) {
    require(seconds >= 0, "communicator: latency must be >= 0, got {} s", seconds);
    latency_ = seconds;
}

void Communicator::exchange(std::span<const Sent> sent, std::span<const Received> received,
                            std::string_view what) {
    const std::unique_ptr<Underway> messages = begin(sent, received);
    wait(*messages, what);
}

void Communicator::wait(Underway& messages, std::string_view what) {
    const auto start = Clock::now();
    wait_for(messages, what);
    seconds_ += seconds_since(start);
}

// Halfway through the timeout, the awaited processes are asked; at its end, one that has not
// answered is lost. A process that is itself waiting answers, and finds the lost process by its own
// wait.
//
// A process that has not polled for long has not seen the answers of that time either: if a whole
// machine stood still, its processes would all blame one another. While the job is being ended, no
// process answers.
void Communicator::wait_for(Underway& messages, std::string_view what) {
    auto since = Clock::now(), looked = since;
    std::optional<std::vector<int>> silent;  // of the processes asked
    for (int looks = 0; !messages.advance(); ++looks) {
        looks < 100 ? std::this_thread::yield() : nap();
        if (timeout_ <= 0) continue;
        const std::vector<int> answered = heard();
        const bool was_away = seconds_since(looked) > timeout_ / 4;
        looked = Clock::now();
        if (was_away || are_ending()) {
            silent.reset();
            since = looked;
        }
        const double waited = seconds_since(since);
        if (!silent && waited < timeout_ / 2) continue;
        if (!silent) {
            silent = each_once(messages.awaited());
            ask(*silent);
            continue;
        }
        keep_silent(*silent, answered, messages.awaited());
        if (silent->empty()) {
            silent.reset();
            since = Clock::now();
        } else if (waited >= timeout_) {
            const int lost = silent->front();
            fail<LostProcessError>("process {} on {} has not answered for {} s; waited for: {}",
                                   lost, host_of(lost), timeout_, what);
        }
    }
}

void Communicator::nap() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

std::string OneProcess::host_of(int) const {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

std::unique_ptr<Underway> OneProcess::start(std::span<const Sent>, std::span<const Received>) {
    return std::make_unique<Nothing>();
}

namespace {

// Sends `mine` to all others, and receives theirs into `places`.
void to_all(Communicator& c, std::span<const std::byte> mine,
            const std::vector<std::span<std::byte>>& places, std::string_view what) {
    std::vector<Sent> sent;
    std::vector<Received> received;
    for (int p = 0; p < c.size(); ++p) {
        if (p == c.rank()) continue;
        sent.push_back({p, mine});
        received.push_back({p, places[static_cast<std::size_t>(p)]});
    }
    c.exchange(sent, received, what);
}

}  // namespace

void broadcast(Communicator& communicator, int root, std::span<std::byte> bytes,
               std::string_view what) {
    if (communicator.rank() != root) {
        const Received received{root, bytes};
        return communicator.exchange({}, {&received, 1}, what);
    }
    std::vector<Sent> sent;
    for (int p = 0; p < communicator.size(); ++p) {
        if (p != root) sent.push_back({p, bytes});
    }
    communicator.exchange(sent, {}, what);
}

void broadcast(Communicator& communicator, int root, std::string& text, std::string_view what) {
    std::uint64_t length = text.size();
    broadcast(communicator, root, std::as_writable_bytes(std::span(&length, 1)), what);
    text.resize(length);
    broadcast(communicator, root, std::as_writable_bytes(std::span(text)), what);
}

std::vector<std::string> all_gather(Communicator& communicator, std::string_view mine,
                                    std::string_view what) {
    const auto count = static_cast<std::size_t>(communicator.size());
    const std::vector<std::vector<double>> lengths =
        all_gather(communicator, std::vector{static_cast<double>(mine.size())},
                   std::vector<std::size_t>(count, 1), what);
    std::vector<std::string> all(count);
    std::vector<std::span<std::byte>> places;
    for (std::size_t p = 0; p < count; ++p) {
        all[p].resize(static_cast<std::size_t>(lengths[p][0]));
        places.push_back(std::as_writable_bytes(std::span(all[p])));
    }
    all[static_cast<std::size_t>(communicator.rank())] = mine;
    to_all(communicator, std::as_bytes(std::span(mine.data(), mine.size())), places, what);
    return all;
}

std::vector<std::vector<double>> all_gather(Communicator& communicator,
                                            const std::vector<double>& mine,
                                            const std::vector<std::size_t>& counts,
                                            std::string_view what) {
    std::vector<std::vector<double>> all;
    std::vector<std::span<std::byte>> places;
    for (const std::size_t count : counts) all.emplace_back(count);
    for (auto& one : all) places.push_back(std::as_writable_bytes(std::span(one)));
    all[static_cast<std::size_t>(communicator.rank())] = mine;
    to_all(communicator, std::as_bytes(std::span(mine.data(), mine.size())), places, what);
    return all;
}

void barrier(Communicator& communicator, std::string_view what) {
    const std::vector<std::span<std::byte>> nothing(static_cast<std::size_t>(communicator.size()));
    to_all(communicator, {}, nothing, what);
}

}  // namespace tapestry
