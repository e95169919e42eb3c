// A step's gradients on their way to the owners of their slices, while the backward pass makes
// others: a bucket (flat_parameters.h) sets out when the last of its parameters' gradients is
// complete in this process's last leaf, and so in all subtrees that it has whole. What comes in
// from others is looked for after every entry of the tape, and a bucket that is there is added up
// at once: the engine has no thread of its own, and needs none. Which bucket comes when changes no
// bit: each has its own tree.
//
// A quarter of the buckets, or four, are under way at a time, and the others wait for their turn:
// what comes in takes memory here, and over a slow network all of it would be under way at once.
// Internal to nn/data_parallel. Read next: data_parallel.h, whose part this is.
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

// As those need it who have parts of its sum: which subtrees are whole within a range of leaves,
// and the sum of all of them in the tree's order. Read next: gradient_sum.h, whose tree it is.

struct Leaves {
    std::int64_t first;
    std::int64_t count;
};

/// The largest subtrees within a range of leaves, from left to right: what a GradientSum has of
/// them.
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

/// Of subtrees, by their first leaves: how many leaves, and their sum.
template <class T>
using KnownSums = std::map<std::int64_t, std::pair<std::int64_t, T>>;

/// The sum over `count` leaves from `first` on, by add(left, right), which changes left. `known` is
/// used up.
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

class GradientsUnderway {
public:
    /// All outlive it. `sum` is about to be given its last leaf.
    GradientsUnderway(const FlatParameters& flat, Communicator& communicator,
                      const Tensors& parameters, std::int64_t leaves, GradientSum& sum);

    /// `sum` has all of this parameter's gradient: what is whole by that sets out, or waits for its
    /// turn, and is let go. Throws ValueError for one that has none in some subtree.
    void complete(std::size_t parameter);
    /// Helps along what is under way, without waiting, and sends whose turn has come.
    void advance();
    /// Completes all, waits for it, and returns this process's slice of the sum over all leaves:
    /// [n].
    Tensor finish();

    /// Seconds in which anything was under way, and those of finish() that were spent waiting.
    double seconds() const { return seconds_; }
    double waited() const { return waited_; }
    /// By bucket, in the order in which they were whole: seconds from then to finish().
    std::vector<double> to_go() const;

    /// Takes gradients into `sum`, and calls complete() and advance(), as a backward pass goes by.
    std::unique_ptr<TapeObserver> watch();

private:
    struct Bucket {
        std::size_t missing = 0;  // of its parameters, those whose gradients are not complete
        Tensors outgoing = {};
        Tensors incoming = {};  // the slice of all subtrees, this process's own among them
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
    std::vector<Bucket> buckets_;
    std::vector<std::vector<std::size_t>> buckets_of_;  // by parameter: those that are not sent
    std::vector<bool> complete_;                        // by parameter
    std::vector<std::size_t> ready_;                    // buckets that wait for their turn
    std::vector<std::size_t> in_flight_;                // in the order they set out
    Tensors slice_;                                     // by bucket
    Clock::time_point since_ = {};                      // something has been under way
    std::vector<Clock::time_point> whole_;              // as ready_ once was
    Clock::time_point finished_ = {};                   // the backward pass has
    double seconds_ = 0;
    double waited_ = 0;
};

}  // namespace tapestry
