#include <tapestry/nn/distributed/communicator.h>

#include <unistd.h>

#include <array>
#include <chrono>

namespace tapestry {

void Communicator::check(int process) const {
    require(process >= 0 && process < size() && process != rank(),
            "exchange: process {} of {} cannot talk to process {}", rank(), size(), process);
}

void Communicator::exchange(std::span<const Sent> sent, std::span<const Received> received) {
    const auto start = std::chrono::steady_clock::now();
    for (const Sent& one : sent) check(one.to);
    for (const Received& one : received) check(one.from);
    transfer(sent, received);
    for (const Sent& one : sent) bytes_sent_ += one.bytes.size();
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string OneProcess::host() const {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

namespace {

// From `root` to everybody else.
template <class Byte>
void from_root(Communicator& c, int root, std::span<Byte> bytes) {
    if (c.rank() != root) {
        const Received received{root, bytes};
        return c.exchange({}, {&received, 1});
    }
    std::vector<Sent> sent;
    for (int p = 0; p < c.size(); ++p) {
        if (p != root) sent.push_back({p, bytes});
    }
    c.exchange(sent, {});
}

// `mine` to everybody else, and what each of them has into its place.
void to_all(Communicator& c, std::span<const std::byte> mine,
            const std::vector<std::span<std::byte>>& places) {
    std::vector<Sent> sent;
    std::vector<Received> received;
    for (int p = 0; p < c.size(); ++p) {
        if (p == c.rank()) continue;
        sent.push_back({p, mine});
        received.push_back({p, places[static_cast<std::size_t>(p)]});
    }
    c.exchange(sent, received);
}

}  // namespace

void broadcast(Communicator& communicator, int root, std::span<std::byte> bytes) {
    from_root(communicator, root, bytes);
}

void broadcast(Communicator& communicator, int root, std::string& text) {
    std::uint64_t length = text.size();
    from_root(communicator, root, std::as_writable_bytes(std::span(&length, 1)));
    text.resize(length);
    from_root(communicator, root, std::as_writable_bytes(std::span(text)));
}

std::vector<std::string> all_gather(Communicator& communicator, std::string_view mine) {
    const auto count = static_cast<std::size_t>(communicator.size());
    const std::vector<std::vector<double>> lengths =
        all_gather(communicator, std::vector{static_cast<double>(mine.size())},
                   std::vector<std::size_t>(count, 1));
    std::vector<std::string> all(count);
    std::vector<std::span<std::byte>> places;
    for (std::size_t p = 0; p < count; ++p) {
        all[p].resize(static_cast<std::size_t>(lengths[p][0]));
        places.push_back(std::as_writable_bytes(std::span(all[p])));
    }
    all[static_cast<std::size_t>(communicator.rank())] = mine;
    to_all(communicator, std::as_bytes(std::span(mine)), places);
    return all;
}

std::vector<std::vector<double>> all_gather(Communicator& communicator,
                                            const std::vector<double>& mine,
                                            const std::vector<std::size_t>& counts) {
    std::vector<std::vector<double>> all;
    std::vector<std::span<std::byte>> places;
    for (const std::size_t count : counts) all.emplace_back(count);
    for (auto& one : all) places.push_back(std::as_writable_bytes(std::span(one)));
    all[static_cast<std::size_t>(communicator.rank())] = mine;
    to_all(communicator, std::as_bytes(std::span(mine)), places);
    return all;
}

void barrier(Communicator& communicator) { all_gather(communicator, std::string_view{}); }

}  // namespace tapestry
