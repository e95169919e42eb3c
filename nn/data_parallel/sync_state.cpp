#include <tapestry/nn/data_parallel/sync_state.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/nn/data_parallel/flat_parameters.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>
#include <tapestry/nn/io/safetensors.h>

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>

namespace tapestry {
namespace {

constexpr std::string_view kFirstState = "weights and moments to begin with";

template <class T>
void broadcast_number(Communicator& c, T& number) {
    broadcast(c, 0, std::as_writable_bytes(std::span(&number, 1)), kFirstState);
}

// An optimiser's tensors have its parameters' shapes, except for the step counts.
Tensor empty_for(const std::string& name, const std::map<std::string, Tensor>& parameters) {
    const std::size_t dot = name.find('.');
    if (name.substr(0, dot) == "steps") return tensor(std::vector<std::int64_t>{0}, {});
    const Tensor& parameter = parameters.at(name.substr(dot + 1));
    return Tensor(parameter.shape(), parameter.dtype());
}

void broadcast_optimizer(Communicator& c, Optimizer& optimizer) {
    OptimizerState state = optimizer.state();
    broadcast_number(c, state.steps);
    broadcast_number(c, state.lr);
    std::map<std::string, Tensor> parameters;
    const Tensors all = optimizer.parameters();
    std::size_t next = 0;
    for (const auto& group : state.groups) {
        for (const std::string& name : group.parameters) parameters[name] = all[next++];
    }
    std::uint64_t count = state.tensors.size();
    broadcast_number(c, count);
    state.tensors.resize(count);
    for (auto& [name, tensor] : state.tensors) {
        broadcast(c, 0, name, kFirstState);
        if (c.rank() != 0) tensor = empty_for(name, parameters);
        broadcast(c, 0, mutable_bytes_of(tensor), kFirstState);
    }
    if (c.rank() != 0) optimizer.load_state(state);
}

}  // namespace

std::int64_t broadcast_state(Communicator& communicator, const Checkpoint& state) {
    for (const auto& [name, saved] : saved_tensors(state.module)) {
        Tensor here = saved;
        broadcast(communicator, 0, mutable_bytes_of(here), kFirstState);
    }
    broadcast_optimizer(communicator, state.optimizer);
    for (const auto& [name, generator] : state.generators) {
        std::uint64_t seed = generator->seed(), offset = generator->offset();
        broadcast_number(communicator, seed);
        broadcast_number(communicator, offset);
        generator->set_state(seed, offset);
    }
    std::int64_t step = state.step;
    broadcast_number(communicator, step);
    return step;
}

namespace {

using Bytes = std::vector<std::byte>;

// Appends a leaf's statistics.
void append(Bytes& bytes, const LeafMoves& moves) {
    for (const StatisticsUpdate& move : moves) {
        for (const Tensor& x : {dense(move.mean), dense(move.var)}) {
            const std::span<const std::byte> numbers = bytes_of(x);
            bytes.insert(bytes.end(), numbers.begin(), numbers.end());
        }
    }
}

// The same moves with the statistics in `bytes`.
LeafMoves with_statistics(LeafMoves moves, std::span<const std::byte> bytes) {
    for (StatisticsUpdate& move : moves) {
        for (Tensor* x : {&move.mean, &move.var}) {
            *x = Tensor(x->shape(), x->dtype());
            const std::span<std::byte> to = mutable_bytes_of(*x);
            std::copy_n(bytes.begin(), to.size(), to.begin());
            bytes = bytes.subspan(to.size());
        }
    }
    return moves;
}

}  // namespace

void fold_statistics(const std::vector<LeafMoves>& leaves) {
    for (const LeafMoves& moves : leaves) {
        for (const StatisticsUpdate& move : moves) move.make();
    }
}

double kind_of(const LeafMoves& moves) {
    if (moves.empty()) return 0;
    Checksum checksum;
    for (const StatisticsUpdate& move : moves) {
        checksum.add(fmt::format("{} {} {} {}\n", move.module, move.mean.shape(), move.mean.dtype(),
                                 move.momentum));
    }
    return 1 + static_cast<double>(std::stoull(checksum.hex().substr(0, 13), nullptr, 16));
}

void fold_statistics(Communicator& communicator, std::int64_t count,
                     const std::vector<LeafMoves>& own) {
    Bytes mine;
    for (const LeafMoves& moves : own) append(mine, moves);
    const std::size_t size = mine.size() / own.size();  // per leaf
    Bytes all(size * static_cast<std::size_t>(count));
    std::vector<Sent> sent;
    std::vector<Received> received;
    for (int p = 0; p < communicator.size(); ++p) {
        const Range share = share_of(count, p, communicator.size());
        const std::span<std::byte> place =
            std::span(all).subspan(size * static_cast<std::size_t>(share.begin),
                                   size * static_cast<std::size_t>(share.size()));
        if (p == communicator.rank()) {
            std::copy(mine.begin(), mine.end(), place.begin());
        } else {
            sent.push_back({p, mine});
            received.push_back({p, place});
        }
    }
    communicator.exchange(sent, received, "running statistics");
    for (std::size_t at = 0; at < all.size(); at += size) {
        fold_statistics({with_statistics(own.front(), std::span(all).subspan(at, size))});
    }
}

}  // namespace tapestry
