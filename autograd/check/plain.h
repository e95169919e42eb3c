// Checks gradients of functions without tensors: f and its gradient over plain arrays, as passed to
// an optimiser (SciPy's minimize, Ceres, NLopt).
//
//     const auto f = [](const std::vector<double>& x) { return x[0] * x[0] * x[1]; };
//     const auto grad = [](const std::vector<double>& x) {
//         return std::vector{2 * x[0] * x[1], x[0]};
//     };
//     const GradcheckReport report = check_gradient(f, grad, {1, 2});  // FAIL, at [1]
//
// Below: other forms of derivatives, Jacobians, Hessians and functions of complex numbers.
#pragma once

#include <tapestry/autograd/check/gradcheck.h>

#include <complex>

namespace tapestry {

/// x -> f(x), a number.
using PlainFunction = std::function<double(const std::vector<double>&)>;
/// x -> df/dx, of x's size.
using PlainGradient = std::function<std::vector<double>(const std::vector<double>&)>;
/// x -> f(x), numbers of any count that does not depend on x.
using PlainVectorFunction = std::function<std::vector<double>(const std::vector<double>&)>;
/// Several inputs, each a separate array.
using PlainInputs = std::vector<std::vector<double>>;
/// inputs -> f(inputs).
using PlainFunctionOfInputs = std::function<std::vector<double>(const PlainInputs&)>;
/// (inputs, g): g^T df/dx for each input x, of its size.
using PlainPullbackOfInputs =
    std::function<PlainInputs(const PlainInputs& inputs, const std::vector<double>& g)>;
/// (x, g): g^T df/dx at x, of the size of x.
using PlainPullback =
    std::function<std::vector<double>(const std::vector<double>& x, const std::vector<double>& g)>;

/// Checks df/dx against grad(x), element by element, or along random directions if there are many.
/// The verdicts and the report are those of gradcheck(): the tolerance is derived, and a wrong
/// gradient is compared with common mistakes. There is no tape that shows branches, so close to a
/// kink the verdict is INCONCLUSIVE. f is only called near x, and within `bounds`. Throws
/// ValueError for an empty x or f(x), or an x outside its bounds, ShapeError if grad(x) has another
/// size than x. Exceptions of f and grad at x propagate; elsewhere std::domain_error and Error mean
/// that f is not defined there, which the report states, and all others propagate.
GradcheckReport check_gradient(const PlainFunction& f, const PlainGradient& grad,
                               const std::vector<double>& x, const GradcheckOptions& options = {});

/// The same for many outputs: a hand-written backward(x, g). `shape` and `output` are the shapes of
/// x and f(x), for the report and for mistakes that involve axes; vectors if omitted. Throws
/// ShapeError if sizes do not match.
GradcheckReport check_pullback(const PlainVectorFunction& f, const PlainPullback& pullback,
                               const std::vector<double>& x, const GradcheckOptions& options = {},
                               const Shape& shape = {}, const Shape& output = {});

/// The same for several inputs, called "input 0" and so on in the report. `shapes`: none, or one
/// each.
GradcheckReport check_pullback(const PlainFunctionOfInputs& f,
                               const PlainPullbackOfInputs& pullback, const PlainInputs& inputs,
                               const GradcheckOptions& options = {},
                               const std::vector<Shape>& shapes = {}, const Shape& output = {});

// ---- Jacobians ----------------------------------------------------------------------------------
// Checks a hand-written Jacobian, dense or given by its nonzero entries, as used by least squares
// (Ceres, SciPy's least_squares) and by equation solvers.
//
//     check_jacobian(f, [](const auto& x) { return std::vector{2 * x[0], 0.0, x[1], x[0]}; },
//                    {3, 2});

/// x -> df/dx [outputs, inputs], row-major: the slopes of output 0 come first.
using PlainJacobian = std::function<std::vector<double>(const std::vector<double>& x)>;

/// One entry of a sparse Jacobian: d f[row] / d x[column].
struct JacobianEntry {
    std::size_t row = 0,  ///< index of the output
        column = 0;       ///< index in x
    double value = 0;     ///< the slope
};
/// x -> the entries, in any order. Entries at the same place are summed, as in SciPy's coo_matrix;
/// where there is none, the claimed slope is 0.
using SparseJacobian = std::function<std::vector<JacobianEntry>(const std::vector<double>& x)>;

/// Checks every slope of every output if there are few outputs, else a random weighted sum of all
/// outputs; otherwise like check_pullback(). Throws ShapeError if the Jacobian has another size
/// than [outputs, inputs].
GradcheckReport check_jacobian(const PlainVectorFunction& f, const PlainJacobian& jacobian,
                               const std::vector<double>& x, const GradcheckOptions& options = {});

/// The same for a sparse Jacobian. Throws IndexError for an entry outside [outputs, inputs].
GradcheckReport check_jacobian(const PlainVectorFunction& f, const SparseJacobian& jacobian,
                               const std::vector<double>& x, const GradcheckOptions& options = {});

// ---- Hessians -----------------------------------------------------------------------------------
// Second derivatives: checks a Hessian, or its product with a vector, against differences of a
// gradient. The gradient is assumed to be right: check it with check_gradient() first.

/// x -> d^2 f / dx^2 [inputs, inputs], in full, including what symmetry implies.
using PlainHessian = std::function<std::vector<double>(const std::vector<double>& x)>;
/// (x, v) -> (d^2 f / dx^2) v, of the size of x.
using PlainHvp =
    std::function<std::vector<double>(const std::vector<double>& x, const std::vector<double>& v)>;

/// Checks hessian(x) against d grad / dx, like check_jacobian(). Throws ShapeError if grad or
/// hessian has another size than x, or its square.
GradcheckReport check_hessian(const PlainGradient& grad, const PlainHessian& hessian,
                              const std::vector<double>& x, const GradcheckOptions& options = {});

/// Checks hvp(x, v) against <v, d grad / dx> for many v: a Hessian is symmetric, so its product
/// with v is the backward of the gradient. Throws ShapeError if grad or hvp has another size than
/// x.
GradcheckReport check_hvp(const PlainGradient& grad, const PlainHvp& hvp,
                          const std::vector<double>& x, const GradcheckOptions& options = {});

// ---- complex numbers ----------------------------------------------------------------------------
// Gradients of functions of complex numbers, which are checked as pairs of real numbers.
//
// The convention is PyTorch's: the gradient of a real loss L with respect to z = a + i b is
//
//     grad = dL/da + i dL/db          (2 dL/dz*, the direction in which L grows fastest)
//
// and the arguments and results of a pullback follow it. JAX uses the conjugate. For an analytic f
// the pullback is g -> conj(f'(z)) g.

/// Numbers a + ib.
using ComplexValues = std::vector<std::complex<double>>;
/// z -> L(z), a real number.
using ComplexFunction = std::function<double(const ComplexValues&)>;
/// z -> the gradient at z in this convention, of its size.
using ComplexGradient = std::function<ComplexValues(const ComplexValues&)>;
/// z -> f(z), complex numbers of any count.
using ComplexVectorFunction = std::function<ComplexValues(const ComplexValues&)>;
/// (z, g) -> the gradient at z, of its size.
using ComplexPullback =
    std::function<ComplexValues(const ComplexValues& z, const ComplexValues& g)>;

/// Checks a real f of complex numbers against grad(z), like check_gradient() for plain arrays. The
/// report shows z as pairs [n, 2]: "at [3, 1]" is the imaginary part of z[3]; bounds apply to the
/// parts.
GradcheckReport check_gradient(const ComplexFunction& f, const ComplexGradient& grad,
                               const ComplexValues& z, const GradcheckOptions& options = {});

/// Checks a complex f with many outputs [m, 2] against pullback(z, g), like check_pullback().
GradcheckReport check_pullback(const ComplexVectorFunction& f, const ComplexPullback& pullback,
                               const ComplexValues& z, const GradcheckOptions& options = {});

}  // namespace tapestry
