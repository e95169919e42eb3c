// Activation functions: f32 or f64 in (DTypeError otherwise), the same shape and type out.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// max(x, 0). Gradient: g where x > 0 (0 at 0). NaN stays NaN.
Tensor relu(const Tensor& x);

/// The two forms of GELU: the definition, and the approximation GPT-2 was trained with.
enum class Gelu { tanh, erf };

/// erf:  x Phi(x), with Phi(x) = (1 + erf(x / sqrt 2)) / 2.        Gradient: g (Phi(x) + x phi(x)).
/// tanh: x (1 + tanh u) / 2, u = sqrt(2/pi) (x + 0.044715 x^3).    Gradient: its derivative times
/// g. Source: Hendrycks and Gimpel 2016, "Gaussian Error Linear Units".
Tensor gelu(const Tensor& x, Gelu form = Gelu::tanh);

/// x sigmoid(x), also called swish. Gradient: g s (1 + x (1 - s)), s = sigmoid(x).
/// Source: Elfwing et al. 2017, "Sigmoid-Weighted Linear Units".
Tensor silu(const Tensor& x);

/// log(1 + e^x), a smooth relu; exact to rounding for every x, without overflow. Gradient:
/// g sigmoid(x). Source: Dugas et al. 2001, "Incorporating Second-Order Functional Knowledge".
Tensor softplus(const Tensor& x);

}  // namespace tapestry
