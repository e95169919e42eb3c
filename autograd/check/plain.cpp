#include <tapestry/autograd/check/plain.h>

#include <tapestry/autograd/check/plain_op.h>

namespace tapestry {

using checker::check_plain;
using checker::PlainCheck;

GradcheckReport check_gradient(const PlainFunction& f, const PlainGradient& grad,
                               const std::vector<double>& x, const GradcheckOptions& options) {
    const PlainVectorFunction value = [&f](const auto& at) { return std::vector{f(at)}; };
    const PlainPullback pullback = [&grad](const auto& at, const auto& g) {
        std::vector<double> result = grad(at);
        for (double& slope : result) slope *= g[0];
        return result;
    };
    return check_plain(value, pullback, x, {.call = "check_gradient(f, grad, {})"}, options);
}

GradcheckReport check_pullback(const PlainVectorFunction& f, const PlainPullback& pullback,
                               const std::vector<double>& x, const GradcheckOptions& options,
                               const Shape& shape, const Shape& output) {
    const PlainCheck what{
        .call = "check_pullback(f, pullback, {})", .shapes = {shape}, .output = output};
    return check_plain(f, pullback, x, what, options);
}

GradcheckReport check_pullback(const PlainFunctionOfInputs& f,
                               const PlainPullbackOfInputs& pullback, const PlainInputs& inputs,
                               const GradcheckOptions& options, const std::vector<Shape>& shapes,
                               const Shape& output) {
    const PlainCheck what{
        .call = "check_pullback(f, pullback, {})", .shapes = shapes, .output = output, .names = {}};
    return check_plain(f, pullback, inputs, what, options);
}

}  // namespace tapestry
