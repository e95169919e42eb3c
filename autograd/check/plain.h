// Gradients of functions that know nothing of tensors: f and its gradient over plain arrays, as
// handed to an optimiser (SciPy's minimize, Ceres, NLopt).
//
//     const auto f = [](const std::vector<double>& x) { return x[0] * x[0] * x[1]; };
//     const auto grad = [](const std::vector<double>& x) {
//         return std::vector{2 * x[0] * x[1], x[0]};
//     };
//     const GradcheckReport report = check_gradient(f, grad, {1, 2});  // FAIL, at [1]
//
// Read next: jacobian.h, hessian.h and complex_inputs.h, for other forms of derivatives.
#pragma once

#include <tapestry/autograd/check/gradcheck.h>

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

}  // namespace tapestry
