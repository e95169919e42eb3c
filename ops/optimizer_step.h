// What optimisers do to parameters: in place, and never on a tape.
//
// Each step is one pass over memory, clipping included: pass the clip factor as grad_scale. All
// tensors of a step have one shape and floating type; all but the gradient are contiguous. Throws
// ShapeError, DTypeError and ValueError otherwise. A tape that saved a parameter before the step
// notices that it has changed.
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
    double grad_scale = 1;  ///< the gradient is multiplied by it first
    /// Of bf16: under which key chance is drawn, another one for each parameter and step; and, of a
    /// part of a parameter, its first number's place there.
    std::uint64_t rounding_key = 0;
    std::int64_t first = 0;  ///< see rounding_key
};

/// One step of Adam (Kingma and Ba, 2015) or AdamW (Loshchilov and Hutter, 2019), as PyTorch's:
///     m <- beta1 m + (1 - beta1) g          v <- beta2 v + (1 - beta2) g^2
///     p <- p (1 - lr weight_decay) - lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps)
/// m and v start as zeros. Not decoupled: g + weight_decay p takes the place of g, and p is not
/// shrunk. Of bf16 it is computed in f32, and p, m and v are rounded up or down by chance, so that
/// the mean of what is rounded is right (core/half.h); f16 has no numbers for g^2 (DTypeError).
void adamw_update_(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, const AdamUpdate& update);

/// What one step changes, and by what.
struct AdamParameter {
    Tensor p;           ///< parameter, changed in place
    Tensor grad;        ///< its gradient
    Tensor m;           ///< mean of its gradients, changed in place
    Tensor v;           ///< mean of their squares, changed in place
    AdamUpdate update;  ///< the step's settings
};

/// The same for many parameters, whose work the threads share: a small model has dozens of them
/// with a few numbers each. All are checked before any is changed; none may share memory with
/// another.
void adamw_update_(RecycledVector<AdamParameter>& all);

/// Settings of one step of gradient descent.
struct SgdUpdate {
    double lr = 1e-3;         ///< learning rate
    double momentum = 0;      ///< share of the buffer that stays; 0: no buffer
    double dampening = 0;     ///< share of the gradient that the buffer does not take
    double weight_decay = 0;  ///< added to the gradient, times p; 0: none
    bool nesterov = false;    ///< step along g' + momentum b instead of b
    bool first = false;       ///< the buffer takes the whole gradient, as on PyTorch's first step
    double grad_scale = 1;    ///< the gradient is multiplied by it first
};

/// One step of gradient descent, as PyTorch's: with g' = g + weight_decay p
///     b <- momentum b + (1 - dampening) g',  p <- p - lr (nesterov ? g' + momentum b : b)
/// Without momentum `buffer` may be undefined and is not touched: p <- p - lr g'.
void sgd_update_(Tensor& p, const Tensor& grad, Tensor& buffer, const SgdUpdate& update);

/// Settings of one step of RMSprop.
struct RmspropUpdate {
    double lr = 1e-2;         ///< learning rate
    double alpha = 0.99;      ///< share of the mean square v that stays
    double eps = 1e-8;        ///< added to the root, so that nothing is divided by 0
    double weight_decay = 0;  ///< added to the gradient, times p; 0: none
    double momentum = 0;      ///< share of the buffer that stays; 0: no buffer
    bool centered = false;    ///< divide by the deviation instead of the root mean square
    double grad_scale = 1;    ///< the gradient is multiplied by it first
};

/// One step of RMSprop (Tieleman and Hinton, 2012), as PyTorch's: with g' = g + weight_decay p
///     v <- alpha v + (1 - alpha) g'^2       d = g' / (sqrt(v) + eps)
///     b <- momentum b + d                   p <- p - lr b
/// Centred (Graves, 2013) the variance v - a^2 takes the place of v under the root, where
/// a <- alpha a + (1 - alpha) g'. All start as zeros. `mean`, a, may be undefined unless centered
/// and `buffer`, b, without momentum; then they are not touched, and d takes the place of b.
void rmsprop_update_(Tensor& p, const Tensor& grad, Tensor& v, Tensor& mean, Tensor& buffer,
                     const RmspropUpdate& update);

/// Settings of one step of Lion.
struct LionUpdate {
    double lr = 1e-4;         ///< learning rate
    double beta1 = 0.9;       ///< share of the mean in the direction of the step
    double beta2 = 0.99;      ///< share of the mean m that stays
    double weight_decay = 0;  ///< shrinks the parameter itself; 0: none
    double grad_scale = 1;    ///< the gradient is multiplied by it first
};

/// One step of Lion (Chen et al., 2023, "Symbolic Discovery of Optimization Algorithms"):
///     p <- p (1 - lr weight_decay) - lr sign(beta1 m + (1 - beta1) g)
///     m <- beta2 m + (1 - beta2) g
/// m starts as zeros; sign(0) = 0.
void lion_update_(Tensor& p, const Tensor& grad, Tensor& m, const LionUpdate& update);

/// The sum of the squares of all elements of all tensors, in double and in a fixed order. Undefined
/// tensors (no gradient) count nothing. Its root is the global norm that clipping needs.
double sum_of_squares(const Tensors& tensors);

/// What sum_of_squares adds, from the first to the last: a sum for every kGrain (core/loop.h)
/// numbers, the tensors lying one behind the other, those of f32 first, then those of f64, bf16 and
/// f16. Whoever has a part of them that begins at such a piece has its sums.
RecycledVector<double> sums_of_squares(const Tensors& tensors);

/// x <- factor x, in place, rounded to nearest. Any floating type and strides.
void scale_(Tensor& x, double factor);

}  // namespace tapestry
