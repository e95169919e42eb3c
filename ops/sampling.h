// Drawing categories by their weights. Results are i64 indices: constants, through which no
// gradient flows.
#pragma once

#include <tapestry/core/random.h>

namespace tapestry {

/// `n` categories for every row of `weights` [..., K], category k with probability
/// weights[k] / sum(weights): i64 [..., n]. Weights are floating numbers (DTypeError), finite and
/// not below zero, and need not add up to 1; a category of weight 0 is never drawn.
///
/// With `replacement` each draw is one of all; without it none comes twice, and each draw is one of
/// those that are left, by their weights. Nothing is sorted: a single draw, or one with
/// replacement, is looked up in the running sums, K + n log K steps; otherwise K numbers -ln(u) /
/// weight race and the first n win, K + n log n steps or so (Efraimidis and Spirakis, "Weighted
/// random sampling with a reservoir", 2006). The generator gives f64 numbers, one per draw, or one
/// per category where they race; the result is the same for any number of threads.
///
/// Throws ShapeError for rank 0, ValueError for n < 1, a weight that is negative or not finite, a
/// row without a weight above 0, or, without replacement, with fewer of them than n.
Tensor multinomial(const Tensor& weights, std::int64_t n, bool replacement = false,
                   Generator& generator = default_generator());

}  // namespace tapestry
