// Two tensors whose axes have names become one: axes that both have are multiplied element by
// element or summed over, all others stay; of more than two, in which order. What einsum() and
// tensordot() are made of. Internal to ops.
#pragma once

#include <tapestry/core/tensor.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {

/// Names of axes, by number, below 64.
using Labels = std::vector<int>;
/// A set of them.
using LabelSet = std::uint64_t;

inline LabelSet set_of(int label) { return LabelSet{1} << label; }
inline LabelSet set_of(const Labels& labels) {
    LabelSet set = 0;
    for (const int label : labels) set |= set_of(label);
    return set;
}

/// Axis i of x is called labels[i]; no name twice, but in what still has diagonals to be read.
struct Labelled {
    Tensor x;
    Labels labels;
};

/// Sum over the labels that both have and `keep` has not. a's axes come first; equal labels have
/// equal sizes. Throws ShapeError, in the name of `op`, when more than eight axes would be left.
Labelled contract(std::string_view op, const Labelled& a, const Labelled& b, LabelSet keep);

/// Axes in the order of `labels`, which are those of x; a view.
Labelled ordered(const Labelled& x, const Labels& labels);

// ---- the order ----------------------------------------------------------------------------------
// (A B) v or A (B v)? The numbers of multiplications differ by orders of magnitude.

/// Of every label; as double, for products of them leave 64 bits.
using LabelSizes = std::array<double, 64>;

/// How many numbers a tensor with these labels has.
double volume(LabelSet labels, const LabelSizes& sizes);

/// Tensors up to which all orders are looked at: 3^8 / 2 pairs of subsets, some 20 microseconds.
inline constexpr std::size_t kExactOrder = 8;

/// The pairs to contract, one after the other: tensors are numbered in the order given, and each
/// result has the next number. `output`: the labels that the last one keeps. The sum over pairs of
/// the volume of their labels, which is the number of multiplications, is the smallest there is up
/// to kExactOrder tensors. Beyond, each step takes the pair whose result is smallest against the
/// two together. One tensor needs no pairs.
std::vector<std::pair<std::size_t, std::size_t>> contraction_order(
    const std::vector<LabelSet>& tensors, LabelSet output, const LabelSizes& sizes);

}  // namespace tapestry
