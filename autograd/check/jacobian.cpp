#include <tapestry/autograd/check/jacobian.h>

#include <tapestry/autograd/check/plain_op.h>

namespace tapestry {
namespace {

using Values = std::vector<double>;

const checker::PlainCheck kJacobian{.subject = "Jacobian",
                                    .call = "check_jacobian(f, jacobian, {})"};

}  // namespace

GradcheckReport check_jacobian(const PlainVectorFunction& f, const PlainJacobian& jacobian,
                               const std::vector<double>& x, const GradcheckOptions& options) {
    const PlainPullback pullback = [&jacobian](const Values& at, const Values& g) {
        const Values j = jacobian(at);
        require<ShapeError>(j.size() == g.size() * at.size(),
                            "check_jacobian: {} numbers, where f has {} outputs and {} inputs",
                            j.size(), g.size(), at.size());
        Values slopes(at.size(), 0.0);
        for (std::size_t i = 0; i < j.size(); ++i) {
            slopes[i % at.size()] += g[i / at.size()] * j[i];
        }
        return slopes;
    };
    return checker::check_plain(f, pullback, x, kJacobian, options);
}

GradcheckReport check_jacobian(const PlainVectorFunction& f, const SparseJacobian& jacobian,
                               const std::vector<double>& x, const GradcheckOptions& options) {
    const PlainPullback pullback = [&jacobian](const Values& at, const Values& g) {
        Values slopes(at.size(), 0.0);
        for (const JacobianEntry& entry : jacobian(at)) {
            require<IndexError>(
                entry.row < g.size() && entry.column < at.size(),
                "check_jacobian: entry [{}, {}], where f has {} outputs and {} inputs", entry.row,
                entry.column, g.size(), at.size());
            slopes[entry.column] += g[entry.row] * entry.value;
        }
        return slopes;
    };
    return checker::check_plain(f, pullback, x, kJacobian, options);
}

}  // namespace tapestry
