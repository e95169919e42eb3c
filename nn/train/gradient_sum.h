// The order in which a step's gradients are added up. Floating-point sums depend on it, so it is
// part of what a training is: it follows from the numbers of batches and of parts alone, not from
// threads, nor from who computed a part. Read next: train_step.h, which adds them.
#pragma once

#include <tapestry/core/tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapestry {

/// The sum of the gradients and losses of a step's leaves 0 .. n - 1: its batches, or, where these
/// are cut into V micro-batches, all parts of all batches.
///
/// V = 1: one after the other, in the parameters' grad(), as tapes add them. V >= 2: a binary tree,
///     sum(0 .. n) = sum(0 .. p) + sum(p .. n),   p the largest power of two below n,
/// of which every subtree depends on its own leaves alone: whoever has the gradients of leaves 4 to
/// 7 can sum these, and send one sum. Of the subtrees that are complete, sizes are powers of two
/// that fall from left to right, as the digits of a binary counter: so no more than
/// gradient_sets(n) sets of gradients exist at a time.
class GradientSum {
public:
    GradientSum(Tensors parameters, std::int64_t micro_batches);

    /// What the parameters' grad() has got since the last call, and this loss, are the next leaf.
    void add(double loss);

    /// Puts the sum into the parameters' grad(), added to what was there before the first leaf, and
    /// returns the losses' sum.
    double finish();

    /// Sets of gradients that exist at the most while n leaves are added up, that of the leaf which
    /// is being computed included.
    static std::int64_t gradient_sets(std::int64_t n, std::int64_t micro_batches);

private:
    struct Subtree {
        std::int64_t leaves;
        double loss;
        Tensors gradients;
    };
    Tensors take();
    void join_last_two();

    Tensors parameters_;
    bool in_tree_;
    Tensors before_;
    std::vector<Subtree> subtrees_;  // from left to right
    double loss_ = 0;                // not in a tree
};

/// XXH3 of the gradients' bytes, parameter by parameter in their order; one without a gradient adds
/// nothing. Two steps with the same checksum have the same gradients.
std::string checksum_of_gradients(const Tensors& parameters);

}  // namespace tapestry
