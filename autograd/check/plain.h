// Gradients of functions that know nothing of tensors: f and its gradient over plain arrays, as
// handed to an optimiser (SciPy's minimize, Ceres, NLopt).
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

using PlainFunction = std::function<double(const std::vector<double>&)>;
using PlainGradient = std::function<std::vector<double>(const std::vector<double>&)>;
using PlainVectorFunction = std::function<std::vector<double>(const std::vector<double>&)>;
/// Several inputs, each an array of its own.
using PlainInputs = std::vector<std::vector<double>>;
using PlainFunctionOfInputs = std::function<std::vector<double>(const PlainInputs&)>;
/// (inputs, g): g^T df/dx for each input x, of its size.
using PlainPullbackOfInputs =
    std::function<PlainInputs(const PlainInputs& inputs, const std::vector<double>& g)>;
/// (x, g): what g^T df/dx is at x, of the size of x.
using PlainPullback =
    std::function<std::vector<double>(const std::vector<double>& x, const std::vector<double>& g)>;

/// df/dx against grad(x), element by element, or along random directions where there are many. The
/// same verdicts and the same report as gradcheck(): the tolerance is derived, and what is wrong is
/// compared with what usually goes wrong. There is no tape to see branches on, so that close to a
/// kink the verdict is INCONCLUSIVE. f is called near x alone, and within `bounds`. Throws
/// ValueError for an empty x or one outside its bounds, ShapeError where grad(x) has another size
/// than x. What f and grad throw at x goes through; elsewhere std::domain_error and Error mean that
/// f is not defined there, which the report says, and all else goes through.
GradcheckReport check_gradient(const PlainFunction& f, const PlainGradient& grad,
                               const std::vector<double>& x, const GradcheckOptions& options = {});

/// The same for many outputs: a hand-written backward(x, g). `shape` and `output` are what x and
/// f(x) mean, for the report and for mistakes that have to do with axes; vectors if left out.
/// Throws ShapeError where sizes do not fit.
GradcheckReport check_pullback(const PlainVectorFunction& f, const PlainPullback& pullback,
                               const std::vector<double>& x, const GradcheckOptions& options = {},
                               const Shape& shape = {}, const Shape& output = {});

/// The same for several inputs, of which the report speaks as "input 0" and so on. `shapes`: none,
/// or one each.
GradcheckReport check_pullback(const PlainFunctionOfInputs& f,
                               const PlainPullbackOfInputs& pullback, const PlainInputs& inputs,
                               const GradcheckOptions& options = {},
                               const std::vector<Shape>& shapes = {}, const Shape& output = {});

// ---- Jacobians ----------------------------------------------------------------------------------
// A Jacobian that somebody wrote down, dense or by its nonzero entries, as least squares (Ceres,
// SciPy's least_squares) and solvers of equations ask for.
//
//     check_jacobian(f, [](const auto& x) { return std::vector{2 * x[0], 0.0, x[1], x[0]}; }, {3,
//     2});

/// x -> df/dx [outputs, inputs], row-major: the slopes of output 0 come first.
using PlainJacobian = std::function<std::vector<double>(const std::vector<double>& x)>;

/// One number of a sparse Jacobian: d f[row] / d x[column].
struct JacobianEntry {
    std::size_t row = 0, column = 0;
    double value = 0;
};
/// x -> the entries, in any order. Those of one place are added up, as in SciPy's coo_matrix; where
/// there is none the slope is claimed to be 0.
using SparseJacobian = std::function<std::vector<JacobianEntry>(const std::vector<double>& x)>;

/// Every slope of every output where there are few, all outputs weighted at random and added up
/// where there are many; the rest is as with check_pullback(). Throws ShapeError where the Jacobian
/// has another size than [outputs, inputs].
GradcheckReport check_jacobian(const PlainVectorFunction& f, const PlainJacobian& jacobian,
                               const std::vector<double>& x, const GradcheckOptions& options = {});

/// The same. Throws IndexError for an entry outside of [outputs, inputs].
GradcheckReport check_jacobian(const PlainVectorFunction& f, const SparseJacobian& jacobian,
                               const std::vector<double>& x, const GradcheckOptions& options = {});

// ---- Hessians -----------------------------------------------------------------------------------
// Second derivatives: a Hessian, or its product with a vector, against differences of a gradient.
// The gradient is taken at its word: ask check_gradient() about it first.

/// x -> d^2 f / dx^2 [inputs, inputs], all of it, also what symmetry would tell.
using PlainHessian = std::function<std::vector<double>(const std::vector<double>& x)>;
/// (x, v) -> (d^2 f / dx^2) v, of the size of x.
using PlainHvp =
    std::function<std::vector<double>(const std::vector<double>& x, const std::vector<double>& v)>;

/// d grad / dx against hessian(x), as check_jacobian() would. Throws ShapeError where grad or
/// hessian has another size than x, or its square.
GradcheckReport check_hessian(const PlainGradient& grad, const PlainHessian& hessian,
                              const std::vector<double>& x, const GradcheckOptions& options = {});

/// <v, d grad / dx> against hvp(x, v), for many v: a Hessian is symmetric, and so its product with
/// v is the backward of the gradient. Throws ShapeError where grad or hvp has another size than x.
GradcheckReport check_hvp(const PlainGradient& grad, const PlainHvp& hvp,
                          const std::vector<double>& x, const GradcheckOptions& options = {});

// ---- complex numbers ----------------------------------------------------------------------------
// Gradients of functions of complex numbers, which are checked as pairs of real ones.
//
// The convention is PyTorch's: the gradient of a real loss L by z = a + i b is
//
//     grad = dL/da + i dL/db          (2 dL/dz*, the direction in which L grows fastest)
//
// and so is what a pullback is handed and gives back. JAX's is the conjugate of it. For an analytic
// f the pullback is g -> conj(f'(z)) g.

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
