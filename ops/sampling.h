// Sampling from categorical distributions. Results are i64 indices; no gradient flows through them.
#pragma once

#include <tapestry/core/random.h>

namespace tapestry {

/// Samples `n` categories for every row of `weights` [..., K], category k with probability
/// weights[k] / sum(weights): i64 [..., n]. Weights are floating-point (DTypeError), finite and
/// nonnegative, and need not sum to 1; a category of weight 0 is never drawn.
///
/// Without `replacement` no category is drawn twice: each draw is from those that remain, by their
/// weights. A single draw, and draws with replacement, are looked up in the running sums, in
/// O(K + n log K); otherwise the n smallest of K numbers -ln(u) / weight are chosen, in about K + n
/// log n steps (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006). Takes
/// f64 numbers from the generator, one per draw in the first case and one per category in the
/// second; the result is the same for any number of threads.
///
/// Throws ShapeError for rank 0, ValueError for n < 1, a weight that is negative or not finite, a
/// row without a positive weight or, without replacement, with fewer than n of them.
Tensor multinomial(const Tensor& weights, std::int64_t n, bool replacement = false,
                   Generator& generator = default_generator());

}  // namespace tapestry
