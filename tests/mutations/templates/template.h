// Plain functions with right gradients, drawn by number: what people hand to check_gradient().
//
// A template is a kind of function (a solver, a loss, something computed in f32); what it draws are
// sizes, scales and numbers. Next to the gradient stands what its author knows of it: how far f is
// off a smooth function, and how far x may move before f bends. From these follows whether a
// checker has to say PASS. Read next: smooth.cpp.
#pragma once

#include <tapestry/autograd/check/plain.h>
#include <tapestry/tests/mutations/templates/draw.h>

#include <string>
#include <string_view>

namespace tapestry::test {

struct PlainCase {
    PlainVectorFunction f = {};
    PlainPullback pullback = {};  ///< the right one
    std::vector<double> x = {};
    Shape shape = {}, output = {};  ///< vectors if empty
    std::vector<Bounds> bounds = {};
    double noise = 0;  ///< by how much f is off a smooth function, beside what f64 rounds
    double room = 1;   ///< how far each number may move before f bends or ends
    /// An answer exists, but f alone does not give it: a checker may say INCONCLUSIVE.
    bool hidden = false;
    std::string note = {};  ///< sizes and scales, for whoever looks at it
};

struct Template {
    std::string_view name;
    PlainCase (*draw)(Draw& draw);
};

/// Smooth ones, of which mistakes in gradients are made.
const std::vector<Template>& smooth_templates();
/// The hard ones: a checker that takes them for wrong is no use to anybody.
const std::vector<Template>& hard_templates();

/// Parts of hard_templates().
const std::vector<Template>& rounding_templates();  ///< f32, printing, noise
const std::vector<Template>& solver_templates();    ///< iterations and systems
const std::vector<Template>& kink_templates();      ///< nearly not differentiable
const std::vector<Template>& scale_templates();     ///< ends of the scale, ends of the domain

using ScalarFunction = std::function<double(const std::vector<double>&)>;

/// A case of one output, from f and its gradient.
PlainCase scalar_case(ScalarFunction f, PlainGradient gradient, std::vector<double> x);

/// t f(x / s), for powers of two: the same numbers in other units.
PlainCase in_units(PlainCase one, double s, double t);

}  // namespace tapestry::test
