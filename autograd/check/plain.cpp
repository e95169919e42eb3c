#include <tapestry/autograd/check/plain.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

using Values = std::vector<double>;

constexpr double kAgreement = 1e-8;

// The plain function as an op: then everything that holds for tensors holds for it.
class PlainOp final : public Op {
public:
    PlainOp(const Tensor& x, const PlainVectorFunction& f, const PlainPullback& pullback)
        : Op("function", {x}), f_(f), pullback_(pullback) {}

    Tensors forward(const Tensors& inputs) const override;

    Tensors backward(const Tensors& grads) override {
        const Values x = saved(0).to_vector<double>();
        const Values g = pullback_(x, grads[0].to_vector<double>());
        require<ShapeError>(g.size() == x.size(),
                            "check_gradient: the gradient has {} numbers for {} of x", g.size(),
                            x.size());
        return {tensor(g, inputs()[0].shape)};
    }

private:
    const PlainVectorFunction& f_;  // not copies: what they keep between calls must be seen
    const PlainPullback& pullback_;
};

Tensor apply(const Tensor& x, const PlainVectorFunction& f, const PlainPullback& pullback,
             const Shape& output) {
    const Values y = f(x.to_vector<double>());
    require<ShapeError>(static_cast<std::int64_t>(y.size()) == numel(output),
                        "check_gradient: f gave {} numbers, then {}", numel(output), y.size());
    Tensor result = tensor(y, output);
    return record<PlainOp>({x}, result, x, f, pullback);
}

Tensors PlainOp::forward(const Tensors& inputs) const {
    return {apply(inputs[0], f_, pullback_, outputs()[0].shape)};
}

}  // namespace

GradcheckReport check_pullback(const PlainVectorFunction& f, const PlainPullback& pullback,
                               const std::vector<double>& x, const GradcheckOptions& options,
                               const Shape& shape, const Shape& output) {
    require(!x.empty(), "check_gradient: x is empty");
    const auto n = static_cast<std::int64_t>(x.size());
    const Shape in = shape.empty() ? Shape{n} : shape;
    require<ShapeError>(numel(in) == n, "check_gradient: {} numbers for a shape of {}", n, in);
    const auto m = static_cast<std::int64_t>(f(x).size());
    const Shape out = output.empty() ? Shape{m} : output;
    require<ShapeError>(numel(out) == m, "check_gradient: f gave {} numbers for a shape of {}", m,
                        out);
    GradcheckOptions plain = options;
    plain.preconditions = false;  // of threads and recomputing it knows nothing
    plain.transpose = false;
    plain.far_steps = false;
    plain.limits.lost_may_pass = false;
    plain.limits.agreement = std::max(plain.limits.agreement, kAgreement);
    const Tensor leaf = tensor(x, in).set_requires_grad();
    const std::function<Tensor()> value = [&] { return apply(leaf, f, pullback, out); };
    GradcheckReport report = gradcheck(value, NamedTensors{{"x", leaf}}, plain);
    report.subject = "plain function";
    return report;
}

GradcheckReport check_gradient(const PlainFunction& f, const PlainGradient& grad,
                               const std::vector<double>& x, const GradcheckOptions& options) {
    const auto value = [&f](const Values& at) { return Values{f(at)}; };
    const auto pullback = [&grad](const Values& at, const Values& g) {
        Values result = grad(at);
        for (double& slope : result) slope *= g[0];
        return result;
    };
    return check_pullback(value, pullback, x, options);
}

}  // namespace tapestry
