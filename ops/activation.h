// Activation functions. They take floating-point tensors (DTypeError otherwise) and keep shape and
// dtype. At infinities they and their gradients have their limits.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// max(x, 0). Gradient: g where x > 0 (0 at 0). NaN stays NaN, with gradient g as in PyTorch.
Tensor relu(const Tensor& x);

/// max(x, 0)^2. Gradient: 2 g x where x > 0 (0 at 0). NaN stays NaN, and so does its gradient.
/// Source: So et al. 2021, "Primer: Searching for Efficient Transformers for Language Modeling".
Tensor relu_squared(const Tensor& x);

/// x where x > 0, else slope x. Gradient: g, else slope g (at 0 too). NaN stays NaN.
/// Source: Maas et al. 2013, "Rectifier Nonlinearities Improve Neural Network Acoustic Models".
Tensor leaky_relu(const Tensor& x, double slope = 0.01);

/// min(max(x, 0), 6). Gradient: g where 0 <= x <= 6 (PyTorch has 0 at 0 and 6).
Tensor relu6(const Tensor& x);

/// min(max(x, low), high): clamp under PyTorch's name. Gradient: g where low <= x <= high (PyTorch
/// has 0 at the bounds). Throws ValueError if low > high or either is NaN.
Tensor hardtanh(const Tensor& x, double low = -1, double high = 1);

/// x where x > 0, else alpha (e^x - 1), exact to rounding near 0. Gradient: g, else g alpha e^x.
/// Source: Clevert et al. 2015, "Fast and Accurate Deep Network Learning by Exponential Linear
/// Units".
Tensor elu(const Tensor& x, double alpha = 1);

/// The two forms of GELU: the definition and the approximation that GPT-2 was trained with.
enum class Gelu {
    tanh,  ///< GPT-2's approximation
    erf    ///< the definition
};

/// erf:  x Phi(x), with Phi(x) = (1 + erf(x / sqrt 2)) / 2.        Gradient: g (Phi(x) + x phi(x)).
/// tanh: x (1 + tanh u) / 2, u = sqrt(2/pi) (x + 0.044715 x^3).    Gradient: its derivative times
/// g. Source: Hendrycks and Gimpel 2016, "Gaussian Error Linear Units".
Tensor gelu(const Tensor& x, Gelu form = Gelu::tanh);

/// x sigmoid(x), also called swish. Gradient: g s (1 + x (1 - s)), s = sigmoid(x).
/// Source: Elfwing et al. 2017, "Sigmoid-Weighted Linear Units".
Tensor silu(const Tensor& x);

/// x clamp(x + 3, 0, 6) / 6, silu made of straight parts. Gradient: g (2 x + 3) / 6 between -3 and
/// 3, 0 below and g above. Source: Howard et al. 2019, "Searching for MobileNetV3".
Tensor hardswish(const Tensor& x);

/// s x where x > 0, else s a (e^x - 1), with s = 1.0507 and a = 1.6733: a layer of it keeps mean 0
/// and variance 1. Gradient: that of elu, times s. Source: Klambauer et al. 2017,
/// "Self-Normalizing Neural Networks".
Tensor selu(const Tensor& x);

/// a sigmoid(b) for the two halves a and b of x along `axis`. Gradient: that of the product. Throws
/// ShapeError for an odd size. Source: Dauphin et al. 2017, "Language Modeling with Gated
/// Convolutional Networks".
Tensor glu(const Tensor& x, int axis = -1);

/// log(1 + e^x), a smooth relu; exact to rounding for every x, without overflow. Gradient:
/// g sigmoid(x). Source: Dugas et al. 2001, "Incorporating Second-Order Functional Knowledge".
Tensor softplus(const Tensor& x);

/// log sigmoid(x) = -softplus(-x), without overflow. Gradient: g sigmoid(-x).
Tensor logsigmoid(const Tensor& x);

/// x / (1 + |x|). Gradient: g / (1 + |x|)^2.
Tensor softsign(const Tensor& x);

/// x tanh(softplus(x)). Gradient: g (t + x sigmoid(x) (1 - t^2)), t = tanh(softplus(x)).
/// Source: Misra 2019, "Mish: A Self Regularized Non-Monotonic Activation Function".
Tensor mish(const Tensor& x);

}  // namespace tapestry
