// Gradients of functions of complex numbers, which are checked as pairs of real ones.
//
// The convention is PyTorch's: the gradient of a real loss L by z = a + i b is
//
//     grad = dL/da + i dL/db          (2 dL/dz*, the direction in which L grows fastest)
//
// and so is what a pullback is handed and gives back. JAX's is the conjugate of it. For an analytic
// f the pullback is g -> conj(f'(z)) g.
#pragma once

#include <tapestry/autograd/check/gradcheck.h>

#include <complex>

namespace tapestry {

using ComplexValues = std::vector<std::complex<double>>;
using ComplexFunction = std::function<double(const ComplexValues&)>;
using ComplexGradient = std::function<ComplexValues(const ComplexValues&)>;
using ComplexVectorFunction = std::function<ComplexValues(const ComplexValues&)>;
/// (z, g) -> what arrives at z, of its size.
using ComplexPullback =
    std::function<ComplexValues(const ComplexValues& z, const ComplexValues& g)>;

/// A real f of complex numbers against grad(z), as check_gradient() of plain arrays. The report has
/// z as pairs [n, 2]: "at [3, 1]" is the imaginary part of z[3]; bounds are those of the parts.
GradcheckReport check_gradient(const ComplexFunction& f, const ComplexGradient& grad,
                               const ComplexValues& z, const GradcheckOptions& options = {});

/// A complex f with many outputs [m, 2] against pullback(z, g), as check_pullback().
GradcheckReport check_pullback(const ComplexVectorFunction& f, const ComplexPullback& pullback,
                               const ComplexValues& z, const GradcheckOptions& options = {});

}  // namespace tapestry
