// An optimiser's step over a row of parameters: every array is read and written once.
//
// ops/optimizer_step.h has the user's settings; here they are already combined into the loop's
// factors.
#pragma once

#include <cstdint>

namespace tapestry::kernels {

/// Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019), for element i:
///     g' = grad_scale g + l2 p            m <- m + beta1_rest (g' - m)
///     p  <- shrink p                      v <- beta2 v + beta2_rest g'^2
///     p  <- p - step_size m / (root_scale sqrt(v) + eps)
/// `_rest` means 1 - beta.
template <class T>
struct AdamStep {
    T grad_scale;
    T l2;      ///< weight decay added to the gradient (Adam), or 0
    T shrink;  ///< 1 - lr weight_decay (AdamW), or 1
    T beta1_rest;
    T beta2;
    T beta2_rest;
    T step_size;   ///< lr / (1 - beta1^t)
    T root_scale;  ///< 1 / sqrt(1 - beta2^t)
    T eps;
};

/// Gradient descent with momentum (Sutskever et al., 2013, in PyTorch's form):
///     g' = grad_scale g + l2 p,  b <- momentum b + intake g'
///     p <- p - lr (nesterov ? g' + momentum b : b)
template <class T>
struct SgdStep {
    T grad_scale;
    T l2;
    T momentum;
    T intake;  ///< 1 - dampening, or 1 on the first step
    T lr;
    bool nesterov;
};

/// RMSprop (Tieleman and Hinton, 2012; centred: Graves, 2013), for element i:
///     g' = grad_scale g + l2 p            v <- alpha v + rest g'^2
///         centred: a <- a + rest (g' - a), v - a^2 replaces v under the root
///     d = g' / (sqrt(v) + eps)            momentum: b <- momentum b + d, b replaces d
///     p <- p - lr d
template <class T>
struct RmspropStep {
    T grad_scale;
    T l2;
    T alpha;
    T rest;  ///< 1 - alpha
    T eps;
    T momentum;
    T lr;
};

/// Lion (Chen et al., 2023), for element i: g' = grad_scale g,
///     p <- shrink p - lr sign(m + beta1_rest (g' - m)),  m <- m + beta2_rest (g' - m)
template <class T>
struct LionStep {
    T grad_scale;
    T shrink;  ///< 1 - lr weight_decay
    T beta1_rest;
    T beta2_rest;
    T lr;
};

template <class T>
struct OptimizerStep {
    void (*adam)(T* p, T* m, T* v, const T* g, std::int64_t n, const AdamStep<T>& step);
    /// `b` may be null: then b = g', no momentum.
    void (*sgd)(T* p, T* b, const T* g, std::int64_t n, const SgdStep<T>& step);
    /// `a` is null if not centred, `b` without momentum.
    void (*rmsprop)(T* p, T* v, T* a, T* b, const T* g, std::int64_t n, const RmspropStep<T>& step);
    void (*lion)(T* p, T* m, const T* g, std::int64_t n, const LionStep<T>& step);
};

}  // namespace tapestry::kernels
