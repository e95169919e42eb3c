// Optimiser steps: in place, never recorded on a tape.
//
// Each step is one pass over memory, clipping included: pass the clip factor as grad_scale. All
// tensors of a step share a shape and a floating-point dtype; all but the gradient are contiguous.
// Throws ShapeError, DTypeError and ValueError otherwise. A tape that saved a parameter before the
// step detects the change.
#pragma once

#include <tapestry/core/tensor.h>

#include <vector>

namespace tapestry {

/// Settings of one Adam or AdamW step.
struct AdamUpdate {
    double lr = 1e-3;         ///< learning rate
    double beta1 = 0.9;       ///< share of the mean m that stays, in [0, 1)
    double beta2 = 0.999;     ///< share of the mean square v that stays, in [0, 1)
    double eps = 1e-8;        ///< added to sqrt(v), so that nothing is divided by 0
    double weight_decay = 0;  ///< strength of the decay; 0: none
    std::int64_t step = 1;    ///< t, counted from 1: this step's number
    bool decoupled =
        true;  ///< AdamW: decay the parameter itself; else Adam: add it to the gradient
    double grad_scale = 1;  ///< factor applied to the gradient first
    /// For bf16: the key of the random numbers for rounding, different for each parameter and step;
    /// and, if p is part of a parameter, the index of its first element there.
    std::uint64_t rounding_key = 0;
    std::int64_t first = 0;  ///< see rounding_key
};

/// One step of Adam (Kingma and Ba, 2015) or AdamW (Loshchilov and Hutter, 2019), as in PyTorch:
///     m <- beta1 m + (1 - beta1) g          v <- beta2 v + (1 - beta2) g^2
///     p <- p (1 - lr weight_decay) - lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps)
/// m and v start as zeros. If not decoupled, g + weight_decay p replaces g, and p is not shrunk.
/// bf16 is computed in f32, and p, m and v are rounded stochastically, which is unbiased
/// (core/half.h). Throws DTypeError for f16, which cannot represent g^2.
void adamw_update_(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, const AdamUpdate& update);

/// The tensors and settings of one parameter's step.
struct AdamParameter {
    Tensor p;           ///< parameter, changed in place
    Tensor grad;        ///< its gradient
    Tensor m;           ///< mean of its gradients, changed in place
    Tensor v;           ///< mean of their squares, changed in place
    AdamUpdate update;  ///< the step's settings
};

/// The same for many parameters, with the work of all of them shared among threads, because a small
/// model has dozens of tiny ones. All are checked before any is changed; they must not share
/// memory.
void adamw_update_(RecycledVector<AdamParameter>& all);

/// Settings of one step of gradient descent.
struct SgdUpdate {
    double lr = 1e-3;                ///< learning rate
    double momentum = 0;             ///< share of the buffer that stays; 0: no buffer
    double dampening = 0;            ///< share of the gradient that the buffer does not take
    double weight_decay = 0;         ///< added to the gradient, times p; 0: none
    bool nesterov = false;           ///< step along g' + momentum b instead of b
    bool first = false;              ///< the buffer becomes the undamped gradient, as in PyTorch
    double grad_scale = 1;           ///< factor applied to the gradient first
    std::uint64_t rounding_key = 0;  ///< for bf16, as in AdamUpdate
    std::int64_t first_element = 0;  ///< AdamUpdate::first
};

/// One step of gradient descent, as in PyTorch: with g' = g + weight_decay p
///     b <- momentum b + (1 - dampening) g',  p <- p - lr (nesterov ? g' + momentum b : b)
/// Without momentum `buffer` may be undefined and is not touched: p <- p - lr g'. bf16 is computed
/// in f32, and p and b are rounded stochastically, as in adamw_update_. Throws DTypeError for f16.
void sgd_update_(Tensor& p, const Tensor& grad, Tensor& buffer, const SgdUpdate& update);

/// Settings of one step of RMSprop.
struct RmspropUpdate {
    double lr = 1e-2;         ///< learning rate
    double alpha = 0.99;      ///< share of the mean square v that stays
    double eps = 1e-8;        ///< added to the root, so that nothing is divided by 0
    double weight_decay = 0;  ///< added to the gradient, times p; 0: none
    double momentum = 0;      ///< share of the buffer that stays; 0: no buffer
    bool centered = false;    ///< divide by the deviation instead of the root mean square
    double grad_scale = 1;    ///< factor applied to the gradient first
};

/// One step of RMSprop (Tieleman and Hinton, 2012), as in PyTorch: with g' = g + weight_decay p
///     v <- alpha v + (1 - alpha) g'^2       d = g' / (sqrt(v) + eps)
///     b <- momentum b + d                   p <- p - lr b
/// If centered (Graves, 2013), the variance v - a^2 replaces v under the root, where a <- alpha
/// a + (1 - alpha) g'. All start as zeros. `mean` (a) may be undefined unless centered, and
/// `buffer` (b) without momentum; then they are not touched, and d replaces b.
void rmsprop_update_(Tensor& p, const Tensor& grad, Tensor& v, Tensor& mean, Tensor& buffer,
                     const RmspropUpdate& update);

/// Settings of one step of Lion.
struct LionUpdate {
    double lr = 1e-4;         ///< learning rate
    double beta1 = 0.9;       ///< share of the mean in the direction of the step
    double beta2 = 0.99;      ///< share of the mean m that stays
    double weight_decay = 0;  ///< shrinks the parameter itself; 0: none
    double grad_scale = 1;    ///< factor applied to the gradient first
};

/// One step of Lion (Chen et al., 2023, "Symbolic Discovery of Optimization Algorithms"):
///     p <- p (1 - lr weight_decay) - lr sign(beta1 m + (1 - beta1) g)
///     m <- beta2 m + (1 - beta2) g
/// m starts as zeros; sign(0) = 0.
void lion_update_(Tensor& p, const Tensor& grad, Tensor& m, const LionUpdate& update);

/// The sum of the squares of all elements of all tensors, in double and in a fixed order. Undefined
/// tensors (no gradient) are skipped. Its square root is the global norm for clipping.
double sum_of_squares(const Tensors& tensors);

/// The partial sums that sum_of_squares adds, in order: one per kGrain (core/loop.h) elements of
/// the tensors' concatenation, f32 tensors first, then f64, bf16 and f16. A part of the tensors
/// that begins at such a piece has the same partial sums.
RecycledVector<double> sums_of_squares(const Tensors& tensors);

/// x <- factor x, in place, rounded to nearest. Any floating-point dtype and strides.
void scale_(Tensor& x, double factor);

}  // namespace tapestry
