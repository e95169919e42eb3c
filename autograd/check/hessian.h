// Second derivatives of functions that know nothing of tensors: a Hessian, or its product with a
// vector, against differences of a gradient. The gradient is taken at its word: ask
// check_gradient() about it first.
#pragma once

#include <tapestry/autograd/check/plain.h>

namespace tapestry {

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

}  // namespace tapestry
