#include <tapestry/autograd/check/complex_inputs.h>

#include <tapestry/autograd/check/plain_op.h>

namespace tapestry {
namespace {

using Values = std::vector<double>;

Values as_pairs(const ComplexValues& z) {
    Values pairs;
    pairs.reserve(2 * z.size());
    for (const auto& number : z) {
        pairs.push_back(number.real());
        pairs.push_back(number.imag());
    }
    return pairs;
}

ComplexValues as_complex(const Values& pairs) {
    ComplexValues z;
    z.reserve(pairs.size() / 2);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) z.emplace_back(pairs[i], pairs[i + 1]);
    return z;
}

Shape pairs_shape(const ComplexValues& z) { return {static_cast<std::int64_t>(z.size()), 2}; }

ComplexValues sized(ComplexValues slopes, std::size_t n) {
    require<ShapeError>(slopes.size() == n,
                        "check_gradient: the gradient has {} numbers for {} of z", slopes.size(),
                        n);
    return slopes;
}

}  // namespace

GradcheckReport check_gradient(const ComplexFunction& f, const ComplexGradient& grad,
                               const ComplexValues& z, const GradcheckOptions& options) {
    const PlainVectorFunction value = [&f](const Values& at) { return Values{f(as_complex(at))}; };
    const PlainPullback pullback = [&grad](const Values& at, const Values& g) {
        Values slopes = as_pairs(sized(grad(as_complex(at)), at.size() / 2));
        for (double& slope : slopes) slope *= g[0];
        return slopes;
    };
    const checker::PlainCheck what{.subject = "function of complex numbers",
                                   .call = "check_gradient(f, grad, {})",
                                   .shapes = {pairs_shape(z)},
                                   .names = {"z"}};
    return checker::check_plain(value, pullback, as_pairs(z), what, options);
}

GradcheckReport check_pullback(const ComplexVectorFunction& f, const ComplexPullback& pullback,
                               const ComplexValues& z, const GradcheckOptions& options) {
    const PlainVectorFunction value = [&f](const Values& at) {
        return as_pairs(f(as_complex(at)));
    };
    const PlainPullback back = [&pullback](const Values& at, const Values& g) {
        return as_pairs(sized(pullback(as_complex(at), as_complex(g)), at.size() / 2));
    };
    const checker::PlainCheck what{.subject = "function of complex numbers",
                                   .call = "check_pullback(f, pullback, {})",
                                   .shapes = {pairs_shape(z)},
                                   .pairs = true,
                                   .names = {"z"}};
    return checker::check_plain(value, back, as_pairs(z), what, options);
}

}  // namespace tapestry
