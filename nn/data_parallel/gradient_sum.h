// The order in which a step's gradients are added. Floating-point sums depend on it, so it is part
// of a run's definition: it follows only from the numbers of batches and micro-batches, not from
// threads or from which process computed a part. Read next: train_step.h, which adds them.
#pragma once

#include <tapestry/core/tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tapestry {

/// A half-open range of indices, [begin, end).
struct Range {
    std::int64_t begin = 0;                            ///< first index
    std::int64_t end = 0;                              ///< index after the last
    std::int64_t size() const { return end - begin; }  ///< end - begin
    bool operator==(const Range&) const = default;
};

/// Share number `part` of 0 to count - 1, divided into `parts` contiguous shares whose sizes differ
/// by at most one; larger shares first, so only trailing ones can be empty.
Range share_of(std::int64_t count, std::int64_t part, std::int64_t parts);

/// sum <- sum + more; an undefined tensor counts as zero. 16-bit types are summed in f32, because
/// small numbers would be lost next to a sum with 8 significant bits.
void add_gradient(Tensor& sum, Tensor more);

/// The type of the sum that add_gradient forms of `count` gradients.
constexpr DType sum_dtype(DType dtype, std::int64_t count) {
    return count > 1 ? compute_dtype(dtype) : dtype;
}

/// The sum of adjacent leaves that form a subtree.
struct GradientSubtree {
    std::int64_t first = 0;   ///< leaf
    std::int64_t leaves = 0;  ///< number of leaves, a power of two
    double loss = 0;          ///< the sum of the leaves' losses
    /// One per parameter, in order; undefined if no gradient arrived. Those of several bf16 leaves
    /// are f32.
    Tensors gradients = {};
};

/// Sums the gradients and losses of a step's leaves 0 .. n - 1: its batches or, if each is split
/// into V micro-batches, all micro-batches of all batches.
///
/// V = 1: one after the other in the parameters' grad(), as tapes add them. V >= 2, and for all
/// 16-bit parameters (sums are then f32 and rounded once): a binary tree,
///     sum(0 .. n) = sum(0 .. p) + sum(p .. n),   p the largest power of two below n,
/// in which every subtree depends only on its own leaves: a process with the gradients of leaves 4
/// to 7 can sum them and send one sum. The sizes of the completed subtrees are powers of two,
/// decreasing from left to right like the digits of a binary counter, so at most
/// gradient_sets(n) sets of gradients exist at a time.
class GradientSum {
public:
    /// With V >= 2 the first leaf may be other than 0, when several processes share the leaves
    /// (data_parallel.h).
    GradientSum(Tensors parameters, std::int64_t micro_batches, std::int64_t first_leaf = 0);

    /// Adds the next leaf: the gradients that arrived in the parameters' grad() since the last
    /// call, and its loss. Throws AutogradError for a gradient that arrived after it was taken.
    void add(double loss);

    /// Before the first leaf's gradients arrive: finish() will get a scale, which must not reach
    /// the gradients that were there before.
    void will_be_scaled();

    /// Before add(): marks the next leaf's gradient of this parameter as complete, so it may be
    /// added to those of the subtrees that the leaf completes. V >= 2.
    void take(std::size_t parameter);

    /// The gradients of the completed subtrees, from left to right, including those of the next
    /// leaf that have been taken.
    std::vector<Tensors*> whole();

    /// Writes the sum, times `scale`, into the parameters' grad(), added to what was there before
    /// the first leaf, and returns the sum of the losses, not scaled.
    double finish(double scale = 1);

    /// Alternative to finish() when the gradients were consumed elsewhere: the losses of the
    /// completed subtrees, from left to right. V >= 2.
    std::vector<double> losses() const;

    /// Maximum number of gradient sets that exist while n leaves are summed, including that of the
    /// leaf being computed.
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
    Tensors pending_;          // of the next leaf, with the subtrees that it completes
    std::vector<bool> taken_;  // whether already in pending_; empty: none
    double loss_ = 0;          // without a tree
};

/// XXH3 of the gradients' bytes, parameter by parameter in order; a parameter without a gradient
/// adds nothing. Equal checksums mean equal gradients.
std::string checksum_of_gradients(const Tensors& parameters);

}  // namespace tapestry
