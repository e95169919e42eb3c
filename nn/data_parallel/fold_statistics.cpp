#include <tapestry/nn/data_parallel/fold_statistics.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/copy.h>
#include <tapestry/nn/data_parallel/flat_parameters.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>

#include <algorithm>
#include <span>
#include <utility>

namespace tapestry {
namespace {

using Bytes = std::vector<std::byte>;

// A leaf's statistics, one behind the other.
void append(Bytes& bytes, const LeafMoves& moves) {
    for (const StatisticsMove& move : moves) {
        for (const Tensor& x : {dense(move.mean), dense(move.var)}) {
            const std::span<const std::byte> numbers = bytes_of(x);
            bytes.insert(bytes.end(), numbers.begin(), numbers.end());
        }
    }
}

// The same moves with other statistics.
LeafMoves with_statistics(LeafMoves moves, std::span<const std::byte> bytes) {
    for (StatisticsMove& move : moves) {
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
        for (const StatisticsMove& move : moves) move.make();
    }
}

double kind_of(const LeafMoves& moves) {
    if (moves.empty()) return 0;
    Checksum checksum;
    for (const StatisticsMove& move : moves) {
        checksum.add(fmt::format("{} {} {} {}\n", move.module, move.mean.shape(), move.mean.dtype(),
                                 move.momentum));
    }
    return 1 + static_cast<double>(std::stoull(checksum.hex().substr(0, 13), nullptr, 16));
}

void fold_statistics(Communicator& communicator, std::int64_t count,
                     const std::vector<LeafMoves>& own) {
    Bytes mine;
    for (const LeafMoves& moves : own) append(mine, moves);
    const std::size_t size = mine.size() / own.size();  // of a leaf
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
