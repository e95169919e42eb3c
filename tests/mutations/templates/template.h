// Plain functions with right gradients, drawn by number: typical input of check_gradient().
//
// A template is a kind of function (a solver, a loss, something computed in f32); it draws sizes,
// scales and numbers. Each case states what its author knows besides the gradient: how far f is
// from a smooth function, and how far x may move before f bends. These decide whether a checker
// must say PASS. Read next: smooth.cpp.
#pragma once

#include <tapestry/autograd/check/plain.h>
#include <tapestry/tests/mutations/templates/draw.h>

#include <map>
#include <string>
#include <string_view>

namespace tapestry::test {

struct PlainCase {
    PlainVectorFunction f = {};
    PlainPullback pullback = {};  ///< the right one
    PlainPullback held = {};      ///< a wrong one: an inner number (a norm, a mean) held constant
    std::map<std::string_view, PlainPullback> variants = {};  ///< other wrong ones, by mistake
    std::vector<double> x = {};
    Shape shape = {}, output = {};  ///< vectors if empty
    std::vector<Bounds> bounds = {};
    Format format = Format::f64;
    double noise = 0;  ///< distance of f from a smooth function, besides f64 rounding
    double room = 1;   ///< how far each number may move before f bends or ends
    /// An answer exists, but f alone does not reveal it: a checker may say INCONCLUSIVE.
    bool hidden = false;
    /// Entries far below f's rounding count by their own size: a wrong one must not pass.
    bool by_own_size = false;
    std::string note = {};  ///< sizes and scales, for the reader
};

struct Template {
    std::string_view name;
    PlainCase (*draw)(Draw& draw);
};

/// Smooth functions, whose gradients get the planted mistakes.
const std::vector<Template>& smooth_templates();
/// Hard functions: a checker that rejects them is useless.
const std::vector<Template>& hard_templates();

/// Parts of hard_templates().
const std::vector<Template>& rounding_templates();    ///< f32, printing, noise
const std::vector<Template>& solver_templates();      ///< iterations and systems
const std::vector<Template>& kink_templates();        ///< nearly not differentiable
const std::vector<Template>& many_kink_templates();   ///< masked, clipped or sorted numbers
const std::vector<Template>& scale_templates();       ///< limits of the range, limits of the domain
const std::vector<Template>& order_templates();       ///< not the same twice, adjoint solvers
const std::vector<Template>& cancelling_templates();  ///< cancellation, underflow, saturation
const std::vector<Template>& size_templates();        ///< small numbers among large ones
const std::vector<Template>& layer_templates();       ///< inner numbers, similar rules
const std::vector<Template>& distance_templates();    ///< far away, at an end, nearly equal
const std::vector<Template>& lost_part_templates();   ///< entries whose part f's rounding hides
const std::vector<Template>& beside_templates();      ///< jumps, cells and ripples beside x
const std::vector<Template>& steep_templates();       ///< a small part of x moves f by a large one

using ScalarFunction = std::function<double(const std::vector<double>&)>;

/// A case with one output, from f and its gradient.
PlainCase scalar_case(ScalarFunction f, PlainGradient gradient, std::vector<double> x);

/// t f(x / s), for powers of two: the same numbers in other units.
PlainCase in_units(PlainCase one, double s, double t);

}  // namespace tapestry::test
