// Losses: what a training step makes small.
//
// Read next: loss.cpp, elementwise_loss.cpp; kernels/softmax.h has the formula for one row.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// How the losses of rows (or elements) are reduced.
enum class Reduction {
    mean,  ///< their mean, a scalar
    sum,   ///< their sum, a scalar
    none   ///< all of them
};

/// Options of cross_entropy().
struct CrossEntropyOptions {
    /// Rows with this target have loss 0 and gradient 0 and do not count in the mean.
    std::int64_t ignore_index = -100;
    /// Share of the target's probability that is spread evenly over all V classes, the target
    /// included.
    double label_smoothing = 0;
    Reduction reduction = Reduction::mean;  ///< over the rows that are not ignored
    /// Factor of each class [V], of the logits' dtype or f32; undefined for 1. The mean over rows
    /// is then weighted by their targets' factors, as in PyTorch.
    Tensor weight = {};
};

/// -sum_j q_j log softmax(logits)_j over the last axis, where q is 1 at the target class, or under
/// smoothing s: 1 - s + s / V there and s / V elsewhere. logits [..., V] are floating-point,
/// targets [...] i64: classes are the last axis, where PyTorch has axis 1. The result is a scalar,
/// or [...] with Reduction::none; for bf16 and f16 logits it is f32. The mean over no rows, or only
/// ignored ones, is NaN, as in PyTorch. Gradient: (softmax(logits) - q) g, over N under mean. Saves
/// the logits and one number per row. Throws ShapeError, DTypeError, IndexError for a target
/// outside [0, V) (with its position), ValueError unless 0 <= label_smoothing <= 1.
///
/// Targets of the logits' shape and dtype are probabilities q themselves, smoothed likewise; they
/// have gradients, and the mean is over all rows. With `weight` term j has the factor weight[j].
/// These two are composed of log_softmax and sums. Throws ShapeError and DTypeError for a weight
/// that does not fit.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options = {});

/// Options of nll_loss().
struct NllOptions {
    /// Rows with this target have loss 0 and gradient 0 and do not count in the mean.
    std::int64_t ignore_index = -100;
    Reduction reduction = Reduction::mean;  ///< over the rows that are not ignored
};

/// -log_p[target], the negative log-likelihood: cross_entropy without the log_softmax. log_p
/// [..., V] is floating-point, targets [...] i64. The mean over no rows is NaN. Gradient: -g at the
/// targets, over N under mean. Errors as for cross_entropy.
Tensor nll_loss(const Tensor& log_p, const Tensor& targets, const NllOptions& options = {});

// ---- elementwise --------------------------------------------------------------------------------
// x is the prediction and y the target: floating-point, of one dtype (DTypeError) and one shape
// (ShapeError), because broadcasting here is nearly always a mistake. The mean is over all
// elements, NaN if there are none; it divides the gradient by their number. Both x and y have
// gradients.

/// (x - y)^2, its mean or sum. Gradient: 2 (x - y) g, and its negative for y.
Tensor mse_loss(const Tensor& x, const Tensor& y, Reduction reduction = Reduction::mean);

/// |x - y|, its mean or sum. Gradient: g sign(x - y), 0 where they are equal, and its negative for
/// y.
Tensor l1_loss(const Tensor& x, const Tensor& y, Reduction reduction = Reduction::mean);

/// With d = x - y: d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2). Gradient: g d, with d
/// clamped to [-delta, delta], and its negative for y. Throws ValueError unless delta > 0.
/// Source: Huber 1964, "Robust Estimation of a Location Parameter".
Tensor huber_loss(const Tensor& x, const Tensor& y, Reduction reduction = Reduction::mean,
                  double delta = 1);

/// huber_loss with delta = beta, divided by beta: |d| - beta / 2 where |d| > beta; l1_loss for
/// beta = 0. Throws ValueError unless beta >= 0. Source: Girshick 2015, "Fast R-CNN".
Tensor smooth_l1_loss(const Tensor& x, const Tensor& y, Reduction reduction = Reduction::mean,
                      double beta = 1);

/// With d = y - x: q d where d >= 0, else (q - 1) d: smallest where x is the q-quantile of y; for
/// q = 1/2 half of l1_loss. Also called the pinball loss. Gradient: -q g where d > 0, (1 - q) g
/// where d < 0, (1/2 - q) g at 0, and its negative for y. Throws ValueError unless 0 < q < 1.
/// Source: Koenker and Bassett 1978, "Regression Quantiles".
Tensor quantile_loss(const Tensor& x, const Tensor& y, double q,
                     Reduction reduction = Reduction::mean);

/// Options of binary_cross_entropy_with_logits().
struct BceOptions {
    /// Factor of each element's loss; undefined for 1. Broadcasts to the shape of x.
    Tensor weight = {};
    /// Factor of the loss where y is 1, such as n_negative / n_positive; undefined for
    /// 1. Broadcasts to the shape of x.
    Tensor pos_weight = {};
    Reduction reduction = Reduction::mean;  ///< over all elements
};

/// -y log p - (1 - y) log(1 - p) with p = sigmoid(x), from x: log(1 + e^x) - x y, without overflow
/// and without losing a small loss when x is large. Gradient: g (p - y), and -g x for y.
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& y,
                                        const BceOptions& options = {});

/// -y log x - (1 - y) log(1 - x) for probabilities x; NaN for x outside [0, 1]. As in PyTorch,
/// logarithms are clamped to at least -100, and the divisor of the gradient, g (x - y) / (x
/// (1 - x)), to at least 1e-12. For y: g (log(1 - x) - log x). If you have logits, prefer the
/// function above.
Tensor binary_cross_entropy(const Tensor& x, const Tensor& y,
                            Reduction reduction = Reduction::mean);

/// How kl_div's elements are reduced. The divergence itself is their sum over an axis: `batchmean`
/// divides the sum of all elements by the size of the first axis, `mean` by the number of elements.
enum class KlReduction {
    mean,       ///< mean over all elements
    batchmean,  ///< sum over the size of axis 0
    sum,        ///< sum of all elements
    none        ///< all elements
};

/// Options of kl_div().
struct KlDivOptions {
    bool log_target = false;                    ///< y is log q
    KlReduction reduction = KlReduction::mean;  ///< over all elements
};

/// q (log q - x), 0 where q is 0: the terms of KL(q || p) for x = log p and y = q, the argument
/// order of PyTorch. Gradient: -g q, and g (log y + 1 - x) for y; with log_target g q (y + 1 - x).
/// Source: Kullback and Leibler 1951, "On Information and Sufficiency".
Tensor kl_div(const Tensor& x, const Tensor& y, const KlDivOptions& options = {});

// ---- sequences without alignment ----------------------------------------------------------------

/// Options of ctc_loss().
struct CtcOptions {
    std::int64_t blank = 0;  ///< the class that stands for no label
    /// `mean` divides each loss by its number of labels, at least 1, first, as in PyTorch.
    Reduction reduction = Reduction::mean;
    bool zero_infinity = false;  ///< an impossible sequence has loss and gradient 0
};

/// -log of the probability of the labels, summed over all alignments: paths of one class per step
/// that give the labels when repeated classes are merged and blanks then removed. log_p [B, T, V]
/// floating-point (the log_softmax of a model's outputs), targets [B, S] i64, of which the first
/// target_lengths[b] count, at the first input_lengths[b] steps; both lengths are [B] i64. (PyTorch
/// has T before B.) The loss is inf where the labels do not fit into the steps. In f32 for bf16 and
/// f16. Gradient: -g times the probability, given the labels, that step t has class v. Throws
/// ShapeError, DTypeError, IndexError for a label outside [0, V) or equal to blank, ValueError for
/// a length outside its axis and for a blank outside [0, V). Source: Graves et al. 2006,
/// "Connectionist Temporal Classification".
Tensor ctc_loss(const Tensor& log_p, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcOptions& options = {});

}  // namespace tapestry
