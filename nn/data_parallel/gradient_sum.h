// The order in which a step's gradients are added up. Floating-point sums depend on it, so it is
// part of what a training is: it follows from the numbers of batches and of parts alone, not from
// threads, nor from who computed a part. Read next: train_step.h, which adds them.
#pragma once

#include <tapestry/core/tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tapestry {

/// Numbers begin .. end - 1 of something.
struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t size() const { return end - begin; }
    bool operator==(const Range&) const = default;
};

/// Share number `part` of 0 .. count - 1 in `parts` contiguous ones, which differ by one at the
/// most; the first are the larger, so that none but the last are empty.
Range share_of(std::int64_t count, std::int64_t part, std::int64_t parts);

/// sum <- sum + more; either may be undefined, which is nothing. Numbers of 16 bits are added up in
/// f32: beside a sum of eight bits what is small would be lost.
void add_gradient(Tensor& sum, Tensor more);

/// What add_gradient makes of this many gradients of that type.
constexpr DType sum_dtype(DType dtype, std::int64_t count) {
    return count > 1 ? compute_dtype(dtype) : dtype;
}

/// The sum of some neighbouring leaves, of which the tree has one.
struct GradientSubtree {
    std::int64_t first = 0;   ///< leaf
    std::int64_t leaves = 0;  ///< how many, a power of two
    double loss = 0;
    /// Of the parameters, in their order; undefined where none arrived. Of bf16 those of several
    /// leaves are f32.
    Tensors gradients = {};
};

/// The sum of the gradients and losses of a step's leaves 0 .. n - 1: its batches, or, where these
/// are cut into V micro-batches, all parts of all batches.
///
/// V = 1: one after the other, in the parameters' grad(), as tapes add them. V >= 2, and wherever
/// parameters are of 16 bits, so that their sums are f32 and rounded once: a binary tree,
///     sum(0 .. n) = sum(0 .. p) + sum(p .. n),   p the largest power of two below n,
/// of which every subtree depends on its own leaves alone: whoever has the gradients of leaves 4 to
/// 7 can sum these, and send one sum. Of the subtrees that are complete, sizes are powers of two
/// that fall from left to right, as the digits of a binary counter: so no more than
/// gradient_sets(n) sets of gradients exist at a time.
class GradientSum {
public:
    /// With V >= 2 the leaves may begin at another than 0: this is then one of several that share
    /// them (data_parallel.h).
    GradientSum(Tensors parameters, std::int64_t micro_batches, std::int64_t first_leaf = 0);

    /// What the parameters' grad() has got since the last call, and this loss, are the next leaf.
    /// Throws AutogradError for a gradient that has come after it was taken.
    void add(double loss);

    /// Before that: the next leaf's gradient of this parameter is complete, and may be added to
    /// those of the subtrees that the leaf makes whole. V >= 2.
    void take(std::size_t parameter);

    /// The gradients of the subtrees that are whole, from left to right, the next leaf's as far as
    /// they have been taken among them.
    std::vector<Tensors*> whole();

    /// Puts the sum into the parameters' grad(), added to what was there before the first leaf, and
    /// returns the losses' sum.
    double finish();

    /// Instead, for whoever has taken the gradients elsewhere: the losses of the subtrees that are
    /// whole, from left to right. V >= 2.
    std::vector<double> losses() const;

    /// Sets of gradients that exist at the most while n leaves are added up, that of the leaf which
    /// is being computed included.
    static std::int64_t gradient_sets(std::int64_t n, std::int64_t micro_batches);

private:
    Tensors take_all();
    std::size_t kept() const;
    void join_last_two();

    Tensors parameters_;
    bool in_tree_;
    Tensors before_;
    std::int64_t next_leaf_;
    std::vector<GradientSubtree> subtrees_;  // from left to right
    Tensors pending_;                        // of the next leaf, with all that it makes whole
    std::vector<bool> taken_;                // into these; empty: nothing yet
    double loss_ = 0;                        // not in a tree
};

/// XXH3 of the gradients' bytes, parameter by parameter in their order; one without a gradient adds
/// nothing. Two steps with the same checksum have the same gradients.
std::string checksum_of_gradients(const Tensors& parameters);

}  // namespace tapestry
