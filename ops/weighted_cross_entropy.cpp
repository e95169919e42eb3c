// Cross-entropy with a factor for each class, and of probabilities instead of classes: composed of
// recorded ops, because neither is where a training step spends its time.
#include <tapestry/core/create.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/loss_rows.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/ops/view.h>

namespace tapestry {
namespace {

// The classes' factors in the dtype of log_p [..., V].
Tensor factors_of(const Tensor& weight, const Tensor& log_p) {
    const std::int64_t classes = log_p.shape().back();
    check_floating("cross_entropy", weight);
    require<ShapeError>(weight.shape() == Shape{classes},
                        "cross_entropy: the weight is {}, but {} classes need [{}]", weight.shape(),
                        classes, classes);
    return to(weight, log_p.dtype());
}

// -sum_j w_j q_j log_p_j with smoothed q; w may be undefined.
Tensor soft_losses(const Tensor& log_p, const Tensor& q, const Tensor& w, double smoothing) {
    const double classes = static_cast<double>(log_p.shape().back());
    const Tensor smoothed =
        smoothing > 0 ? add(mul(q, 1 - smoothing), smoothing / classes) : q;  // [..., V]
    // What cannot be and is not wanted costs nothing: 0 log 0 = 0.
    const Tensor is_nothing = logical_and(eq(smoothed, 0.0), isinf(log_p));
    const Tensor terms = mul(smoothed, where(is_nothing, zeros_like(log_p), log_p));
    return neg(sum(w.defined() ? mul(terms, w) : terms, {-1}));
}

}  // namespace

Tensor weighted_cross_entropy(const Tensor& logits, const Tensor& targets,
                              const CrossEntropyOptions& options) {
    const FloatingPointGuard standard;
    const Tensor log_p = log_softmax(to(logits, compute_dtype(logits.dtype())));
    const Tensor w = factors_of(options.weight, log_p);
    const Tensor counts = ne(targets, static_cast<double>(options.ignore_index));  // [...]
    const Tensor classes = where(counts, targets, 0);  // any class: its row does not count
    const Tensor q = to(one_hot(classes, log_p.shape().back()), log_p.dtype());
    const Tensor losses = where(counts, soft_losses(log_p, q, w, options.label_smoothing), 0);
    if (options.reduction == Reduction::none) return losses;
    if (options.reduction == Reduction::sum) return sum(losses);
    return div(sum(losses),
               sum(where(counts, index_select(w, 0, flatten(classes)).reshape(counts.shape()), 0)));
}

Tensor soft_cross_entropy(const Tensor& logits, const Tensor& targets,
                          const CrossEntropyOptions& options) {
    const FloatingPointGuard standard;
    check_floating("cross_entropy", logits);
    check_same_dtype("cross_entropy", logits, targets);
    check_smoothing("cross_entropy", options.label_smoothing);
    const DType dtype = compute_dtype(logits.dtype());
    const Tensor log_p = log_softmax(to(logits, dtype));
    const Tensor w = options.weight.defined() ? factors_of(options.weight, log_p) : Tensor();
    const Tensor losses = soft_losses(log_p, to(targets, dtype), w, options.label_smoothing);
    return reduced(losses, options.reduction, losses.numel());
}

}  // namespace tapestry
