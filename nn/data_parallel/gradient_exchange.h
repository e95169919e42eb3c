// A step's gradients on their way to the owners of their slices, while the backward pass computes
// others. A bucket (flat_parameters.h) is sent when the gradient of the last of its parameters is
// complete in this process's last leaf, and so in all of its subtrees. After every entry of the
// tape it polls for incoming messages and sums a bucket that has arrived, so it needs no thread of
// its own. The order of arrival does not affect the bits, because each bucket has its own tree.
//
// A quarter of the buckets, but at least four, may be in flight; the others queue, because
// incoming buckets take memory, and over a slow network all of them would be in flight at once.
// Internal to nn/data_parallel. Read next: data_parallel.h, which uses this.
#pragma once

#include <tapestry/autograd/observer.h>
#include <tapestry/core/clock.h>
#include <tapestry/nn/data_parallel/flat_parameters.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>
#include <tapestry/nn/distributed/communicator.h>

#include <bit>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tapestry {

// ---- the tree over a step's leaves --------------------------------------------------------------

// The tree as seen by processes that hold parts of its sum: the subtrees that are complete within a
// range of leaves, and the sum of all of them in the tree's order. Read next: gradient_sum.h, whose
// tree it is.

struct Leaves {
    std::int64_t first;
    std::int64_t count;
};

/// The largest subtrees within a range of leaves, from left to right; a GradientSum holds exactly
/// these.
inline std::vector<Leaves> subtrees_in(Range range) {
    std::vector<Leaves> all;
    for (std::int64_t first = range.begin; first < range.end;) {
        std::int64_t count = 1;
        while (first % (2 * count) == 0 && first + 2 * count <= range.end) count *= 2;
        all.push_back({first, count});
        first += count;
    }
    return all;
}

/// Subtrees by their first leaf: number of leaves, and sum.
template <class T>
using KnownSums = std::map<std::int64_t, std::pair<std::int64_t, T>>;

/// The sum over `count` leaves starting at `first`, by add(left, right), which modifies left.
/// Consumes `known`.
template <class T, class Add>
T tree_sum(KnownSums<T>& known, std::int64_t first, std::int64_t count, const Add& add) {
    const auto found = known.find(first);
    if (found != known.end() && found->second.first == count)
        return std::move(found->second.second);
    const auto left =
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count - 1)));
    T sum = tree_sum(known, first, left, add);
    add(sum, tree_sum(known, first + left, count - left, add));
    return sum;
}

// ---- the gradients ------------------------------------------------------------------------------

class GradientExchange {
public:
    /// All arguments must outlive it. `sum` is about to receive its last leaf. The sum over all
    /// processes is multiplied by `scale`.
    GradientExchange(const FlatParameters& flat, Communicator& communicator,
                     const Tensors& parameters, std::int64_t leaves, GradientSum& sum,
                     double scale = 1);

    /// Declares that `sum` has the whole gradient of this parameter. Buckets completed by it are
    /// sent or queued, and packed gradients are freed. Throws ValueError for one that is missing in
    /// some subtree.
    void complete(std::size_t parameter);
    /// Polls pending transfers and starts queued ones; does not block.
    void advance();
    /// Completes all parameters, waits for the transfers, and returns this process's slice of the
    /// sum over all leaves: [n].
    Tensor finish();

    /// Seconds during which any transfer was in flight, and those that finish() spent waiting.
    double seconds() const { return seconds_; }
    double waited() const { return waited_; }
    /// Per bucket, in the order of completion: seconds from then to finish().
    std::vector<double> to_go() const;

    /// Observer that takes gradients into `sum` and calls complete() and advance() during a
    /// backward pass.
    std::unique_ptr<TapeObserver> watch();

private:
    struct Bucket {
        std::size_t missing = 0;  // parameters whose gradients are not complete
        Tensors outgoing = {};
        Tensors incoming = {};  // this slice of all subtrees, its own included
        std::unique_ptr<Underway> messages = {};
    };
    void send_ready();
    void send(std::size_t bucket);
    void arrived(std::size_t bucket);
    void wait();
    std::size_t most_in_flight() const;
    Tensor add_up(Tensors subtrees) const;

    const FlatParameters& flat_;
    Communicator& communicator_;
    const Tensors& parameters_;
    std::int64_t leaves_;
    GradientSum& sum_;
    double scale_;
    std::vector<Bucket> buckets_;
    std::vector<std::vector<std::size_t>> buckets_of_;  // by parameter: buckets not yet sent
    std::vector<bool> complete_;                        // by parameter
    std::vector<std::size_t> ready_;                    // queued buckets
    std::vector<std::size_t> in_flight_;                // in the order of sending
    Tensors slice_;                                     // by bucket
    Clock::time_point since_ = {};                      // start of the current time in flight
    std::vector<Clock::time_point> whole_;              // when each became ready, in ready_'s order
    Clock::time_point finished_ = {};                   // when the backward pass ended
    double seconds_ = 0;
    double waited_ = 0;
};

}  // namespace tapestry
