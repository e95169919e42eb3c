// What cross_entropy and linear_cross_entropy share: targets, rows for the kernel, the gradient in
// recordable ops.
// Internal to ops.
#pragma once

#include <tapestry/core/loop.h>
#include <tapestry/ops/kernels/softmax.h>
#include <tapestry/ops/loss.h>

#include <algorithm>
#include <string_view>

namespace tapestry {

/// Checks every target; returns how many rows count. Throws IndexError.
std::int64_t count_targets(std::string_view op, const Tensor& targets, std::int64_t classes,
                           std::int64_t ignored);

/// Throws ValueError unless it is in [0, 1].
void check_smoothing(std::string_view op, double smoothing);

/// The factor of each row's gradient. A mean over no rows is NaN, but the gradients are 0, as for
/// any ignored row.
double share_of_rows(Reduction reduction, std::int64_t counted);

/// losses [...] -> themselves, their sum, or their sum / counted.
Tensor reduced(const Tensor& losses, Reduction reduction, std::int64_t counted);

/// (softmax(logits) - q) weight g for logits [..., V] in a compute type and g of their dtype, with
/// constants q [..., V] and weight [..., 1], both 0 in ignored rows. Composed of recordable ops.
Tensor cross_entropy_gradient(const Tensor& logits, const Tensor& targets, const Tensor& grad,
                              const CrossEntropyOptions& options, std::int64_t counted);

/// cross_entropy with class weights, of targets that count_targets() has checked.
Tensor weighted_cross_entropy(const Tensor& logits, const Tensor& targets,
                              const CrossEntropyOptions& options);
/// cross_entropy with probabilities as targets.
Tensor soft_cross_entropy(const Tensor& logits, const Tensor& targets,
                          const CrossEntropyOptions& options);

/// Rows worth a thread. An exponential costs about as much as eight additions.
inline std::int64_t rows_per_chunk(std::int64_t classes) {
    return kGrain / 8 / std::max<std::int64_t>(classes, 1);
}

/// Arguments of the kernel for rows with logits at x.
template <class C>
typename kernels::CrossEntropy<C>::Rows rows_at(const C* x, const std::int64_t* targets,
                                                std::int64_t classes,
                                                const CrossEntropyOptions& options) {
    return {x, targets, classes, options.ignore_index, static_cast<C>(options.label_smoothing)};
}

}  // namespace tapestry
