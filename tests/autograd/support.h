// Shared by the tape's tests: leaves with known numbers, and an op with a custom rule.
#pragma once

#include <tapestry/autograd/check/gradcheck.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/core/support.h>

#include <functional>
#include <vector>

namespace tapestry::test {

using Values = std::vector<double>;

inline Values values(const Tensor& x) { return x.to_vector<double>(); }

/// An f64 vector that requires a gradient.
inline Tensor leaf(const Values& numbers) {
    return tensor(numbers, {static_cast<std::int64_t>(numbers.size())}).set_requires_grad();
}

/// The same of rank 0.
inline Tensor scalar_leaf(double number) { return scalar(number, DType::f64).set_requires_grad(); }

/// An op called "rule" that saves its input; its backward is `rule`(gradient of the output, x).
using Rule = std::function<Tensors(const Tensor& grad, const Tensor& x)>;

using Function = std::function<Tensor(const Tensor&)>;

inline Tensor with_rule(const Tensor& x, const Function& forward, const Rule& rule);

struct RuleOp final : Op {
    RuleOp(const Tensor& x, const Function& forward, const Rule& rule)
        : Op("rule", {x}), forward_(forward), rule_(rule) {}
    Tensors forward(const Tensors& x) const override { return {with_rule(x[0], forward_, rule_)}; }
    Tensors backward(const Tensors& grads) override { return rule_(grads[0], saved(0)); }

private:
    Function forward_;
    Rule rule_;
};

/// forward(x), with the gradient given by `rule`.
inline Tensor with_rule(const Tensor& x, const Function& forward, const Rule& rule) {
    Tensor y = [&] {
        const NoGradGuard no_grad;
        return forward(x).clone();
    }();
    return record<RuleOp>({x}, y, x, forward, rule);
}

}  // namespace tapestry::test
