#include <tapestry/autograd/check/hessian.h>

#include <tapestry/autograd/check/plain_op.h>

namespace tapestry {
namespace {

using checker::check_plain;
using Values = std::vector<double>;

// Another size than that of x would make another matrix of the Hessian.
PlainVectorFunction sized(const PlainGradient& grad, const char* who) {
    return [&grad, who](const Values& x) {
        Values g = grad(x);
        require<ShapeError>(g.size() == x.size(), "{}: the gradient has {} numbers for {} of x",
                            who, g.size(), x.size());
        return g;
    };
}

}  // namespace

GradcheckReport check_hessian(const PlainGradient& grad, const PlainHessian& hessian,
                              const std::vector<double>& x, const GradcheckOptions& options) {
    const PlainPullback pullback = [&hessian](const Values& at, const Values& g) {
        const Values h = hessian(at);
        const std::size_t n = at.size();
        require<ShapeError>(h.size() == n * n, "check_hessian: {} numbers, not {} x {}", h.size(),
                            n, n);
        Values slopes(n, 0.0);
        for (std::size_t i = 0; i < h.size(); ++i) slopes[i % n] += g[i / n] * h[i];
        return slopes;
    };
    return check_plain(sized(grad, "check_hessian"), pullback, x,
                       {.subject = "Hessian", .call = "check_hessian(grad, hessian, {})"}, options);
}

GradcheckReport check_hvp(const PlainGradient& grad, const PlainHvp& hvp,
                          const std::vector<double>& x, const GradcheckOptions& options) {
    const PlainPullback pullback = [&hvp](const Values& at, const Values& v) {
        Values product = hvp(at, v);
        require<ShapeError>(product.size() == at.size(),
                            "check_hvp: the product has {} numbers for {} of x", product.size(),
                            at.size());
        return product;
    };
    return check_plain(sized(grad, "check_hvp"), pullback, x,
                       {.subject = "Hessian-vector product", .call = "check_hvp(grad, hvp, {})"},
                       options);
}

}  // namespace tapestry
