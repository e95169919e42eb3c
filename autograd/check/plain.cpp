#include <tapestry/autograd/check/plain.h>

#include <tapestry/autograd/check/limits.h>
#include <tapestry/autograd/check/plain_op.h>
#include <tapestry/autograd/check/precision.h>

#include <fmt/format.h>

#include <utility>

namespace tapestry {
namespace {

using checker::apply_plain;
using checker::Box;
using checker::check_plain;
using checker::plain_leaves;
using checker::PlainCheck;
using Values = std::vector<double>;

}  // namespace

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

// ---- Jacobians ----------------------------------------------------------------------------------

namespace {

const PlainCheck kJacobian{.subject = "Jacobian", .call = "check_jacobian(f, jacobian, {})"};

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
    return check_plain(f, pullback, x, kJacobian, options);
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
    return check_plain(f, pullback, x, kJacobian, options);
}

// ---- Hessians -----------------------------------------------------------------------------------

namespace {

// A gradient of another size than x would give a Hessian of another shape.
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

// ---- complex numbers ----------------------------------------------------------------------------

namespace {

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
    const PlainCheck what{.subject = "function of complex numbers",
                          .call = "check_gradient(f, grad, {})",
                          .shapes = {pairs_shape(z)},
                          .names = {"z"}};
    return check_plain(value, pullback, as_pairs(z), what, options);
}

GradcheckReport check_pullback(const ComplexVectorFunction& f, const ComplexPullback& pullback,
                               const ComplexValues& z, const GradcheckOptions& options) {
    const PlainVectorFunction value = [&f](const Values& at) {
        return as_pairs(f(as_complex(at)));
    };
    const PlainPullback back = [&pullback](const Values& at, const Values& g) {
        return as_pairs(sized(pullback(as_complex(at), as_complex(g)), at.size() / 2));
    };
    const PlainCheck what{.subject = "function of complex numbers",
                          .call = "check_pullback(f, pullback, {})",
                          .shapes = {pairs_shape(z)},
                          .pairs = true,
                          .names = {"z"}};
    return check_plain(value, back, as_pairs(z), what, options);
}

// ---- precisions: as ops on a tape (precision.h) -------------------------------------------------

namespace {

Shape output_of(const PlainRule& wide, const PlainInputs& inputs, const Shape& asked) {
    const auto count = static_cast<std::int64_t>(wide.f(inputs).size());
    require(count > 0, "compare_precisions: f gave no numbers");
    const Shape output = asked.empty() ? Shape{count} : asked;
    require<ShapeError>(numel(output) == count,
                        "compare_precisions: f gave {} numbers for a shape of {}", count, output);
    return output;
}

}  // namespace

PrecisionReport compare_precisions(const PlainRule& narrow, const PlainRule& wide,
                                   const PlainInputs& inputs, DType dtype,
                                   const PlainPrecisionOptions& options) {
    require<DTypeError>(is_half(dtype),
                        "compare_precisions: the format must be bf16 or f16, got {}", dtype);
    const PlainCheck what{.shapes = options.shapes, .output = {}, .names = {}};
    const NamedTensors leaves = plain_leaves(inputs, what);
    const std::vector<Box> boxes = Box::of(leaves, options.bounds);
    const Shape output = output_of(wide, inputs, options.output);
    const auto f = [&](const Tensors& x) {
        for (std::size_t i = 0; i < x.size(); ++i) {
            require(boxes[i].contains(x[i].to_vector<double>()),
                    "compare_precisions: {}, rounded to {}, is outside its bounds", leaves[i].first,
                    dtype);
        }
        const PlainRule& rule = x[0].dtype() == dtype ? narrow : wide;
        return apply_plain(x, rule.f, rule.pullback, output);
    };
    Tensors x;
    for (const auto& [name, leaf] : leaves) x.push_back(leaf.detach());
    return compare_precisions(f, x, options.seed, dtype);
}

}  // namespace tapestry
