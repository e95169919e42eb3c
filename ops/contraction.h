// Contraction of two tensors with labelled axes: shared axes are multiplied elementwise or summed
// over, all others stay. Also chooses the order for more than two. einsum() and tensordot() are
// built on it. Internal to ops.
#pragma once

#include <tapestry/core/tensor.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {

/// Labels of axes: numbers below 64.
using Labels = std::vector<int>;
/// A set of labels.
using LabelSet = std::uint64_t;

inline LabelSet set_of(int label) { return LabelSet{1} << label; }
inline LabelSet set_of(const Labels& labels) {
    LabelSet set = 0;
    for (const int label : labels) set |= set_of(label);
    return set;
}

/// A tensor whose axis i has label labels[i]. Labels are distinct, except before diagonals are
/// taken.
struct Labelled {
    Tensor x;
    Labels labels;
};

/// Sums over the labels that a and b share and `keep` lacks. a's axes come first; equal labels have
/// equal sizes. Throws ShapeError, naming `op`, if more than eight axes would be left.
Labelled contract(std::string_view op, const Labelled& a, const Labelled& b, LabelSet keep);

/// x with its axes in the order of `labels`, a permutation of x.labels; a view.
Labelled ordered(const Labelled& x, const Labels& labels);

// ---- the order ----------------------------------------------------------------------------------
// (A B) v or A (B v)? The costs differ by orders of magnitude.

/// The size of every label; double, because their products overflow 64 bits.
using LabelSizes = std::array<double, 64>;

/// Number of elements of a tensor with these labels.
double volume(LabelSet labels, const LabelSizes& sizes);

/// Up to this many tensors every order is tried: 3^8 / 2 pairs of subsets, about 20 microseconds.
inline constexpr std::size_t kExactOrder = 8;

/// The pairs to contract, in order: tensors are numbered as given, and each result gets the next
/// number. `output` holds the labels that the last result keeps. Up to kExactOrder tensors the
/// order is optimal: it minimises the number of multiplications, which is the sum over pairs of the
/// volume of their labels. Beyond that it is greedy: each step takes the pair whose result is
/// smallest relative to its operands. Empty for one tensor.
std::vector<std::pair<std::size_t, std::size_t>> contraction_order(
    const std::vector<LabelSet>& tensors, LabelSet output, const LabelSizes& sizes);

}  // namespace tapestry
