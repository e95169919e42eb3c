// A Jacobian that somebody wrote down, dense or by its nonzero entries, as least squares (Ceres,
// SciPy's least_squares) and solvers of equations ask for.
//
//     check_jacobian(f, [](const auto& x) { return std::vector{2 * x[0], 0.0, x[1], x[0]}; }, {3,
//     2});
#pragma once

#include <tapestry/autograd/check/plain.h>

namespace tapestry {

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

}  // namespace tapestry
