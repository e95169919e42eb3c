// Two tensors whose axes have names become one: axes that both have are multiplied element by
// element or summed over, all others stay. What einsum() and tensordot() are made of.
// Internal to ops.
#pragma once

#include <tapestry/core/tensor.h>

#include <cstdint>
#include <string_view>
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

}  // namespace tapestry
