// A linear layer with low-rank updates (LoRA) as one op. Read next: nn/layers/low_rank.h.
#pragma once

#include <tapestry/autograd/tape.h>

#include <vector>

namespace tapestry {

/// An update of a linear layer, scale B A, to rows [first, first + O') of its weight.
struct LowRankUpdate {
    Tensor a;                ///< [r, I]
    Tensor b;                ///< [O', r]
    double scale = 1;        ///< alpha / r
    std::int64_t first = 0;  ///< of the layer's outputs
    Tensor x = {};           ///< its input, if that is not the layer's: dropout(x)
};

/// y = linear(x, weight, bias), and in each update's columns + scale (x A^T) B^T, for x [..., I],
/// weight [O, I]: [..., O]. The updates are added where y is, and their gradients to x where the
/// weight's is; composed of linear, concat and add, a fine-tuning step took a tenth more processor
/// time. Gradient, with g' an update's columns of g: g W + scale (g' B) A to x, scale (g' B)^T x to
/// A, scale g'^T (x A^T) to B, and linear's to the weight and the bias. Throws as linear() does,
/// and ShapeError if an update's shapes do not fit.
/// Source: Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models".
Tensor low_rank_linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const std::vector<LowRankUpdate>& updates);

}  // namespace tapestry
