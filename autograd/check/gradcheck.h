// Checks gradients against central differences whose error is known, so no tolerance has to be
// chosen; and if they are wrong, reports the op at fault and its probable mistake.
//
//     const GradcheckReport report = gradcheck(f, {x, w});
//     fmt::print("{}\n", report);                        // one screen
//     if (!report) ...                                   // FAIL or INCONCLUSIVE
//
// The outputs are weighted with random numbers before they are summed: a plain sum cannot detect
// errors that cancel in it (softmax sums to one, so its gradient under a sum is zero for any rule).
// See docs/gradient-checking.md for details.
#pragma once

#include <tapestry/autograd/check/dual.h>
#include <tapestry/autograd/check/report.h>
#include <tapestry/core/tensor.h>

#include <functional>
#include <optional>

namespace tapestry {

/// The function to check: deterministic, of tensors that require gradients, with one floating-point
/// result of any shape.
using TensorFunction = std::function<Tensor(const Tensors&)>;

/// The function in dual numbers: inputs row-major, outputs row-major.
using DualFunction = std::function<std::vector<Dual>(const std::vector<std::vector<Dual>>&)>;

/// How the derivatives of one input are compared.
enum class GradcheckMethod {
    automatic,   ///< per input, the most thorough that is cheap enough
    jacobian,    ///< every output element by every input element
    entries,     ///< every input element, for all outputs weighted together
    directions,  ///< random directions of all elements of one input together
};

/// What and how to check. The defaults need no choice; every one of them is a bound, not a
/// tolerance.
struct GradcheckOptions {
    GradcheckMethod method = GradcheckMethod::automatic;  ///< of all inputs
    /// Determines the number of random directions, if they are used: an error escapes all of them
    /// with a probability of at most 1 - certainty.
    double certainty = 0.999;
    /// Setting one of these replaces the derived tolerance by PyTorch's test, |claimed - numeric|
    /// <= atol + rtol |numeric| with step eps; the others take its defaults: 1e-6, 1e-5 and 1e-3.
    std::optional<double> eps = {},  ///< step
        atol = {},                   ///< absolute tolerance
        rtol = {};                   ///< relative tolerance
    /// Whether f may be called far from x: with steps larger than x itself, and at -x. Functions on
    /// a tape are defined for all numbers; for plain functions this is unknown.
    bool far_steps = true;
    /// The range of the inputs' numbers: one for all, or one for each number of all inputs, in
    /// order. Excludes far steps; on a bound, steps only go inwards.
    std::vector<Bounds> bounds = {};
    /// The number of points to check: x and others nearby, drawn at random (every number moves by
    /// up to half of itself). A rule that is wrong elsewhere may be right at x.
    int points = 1;
    /// Called before every evaluation, for a function that keeps state between calls: a generator,
    /// a solver's last result. (For plain functions: also before every call of the gradient.)
    std::function<void()> reset = {};
    /// The first oracle; if false, only the others are used.
    bool differences = true;
    /// A second oracle: the same function in dual numbers, exact to rounding.
    DualFunction dual = {};
    /// A third: compares <v, J u> from jvp() with <J^T v, u>, which shows whether the rules are
    /// linear and are recorded correctly. gradgradcheck() always uses it.
    bool transpose = false;
    /// Compares two runs on the same inputs, one thread with several, and runs with and without
    /// recompute().
    bool preconditions = true;
    /// Name the first wrong op and the probable mistake.
    bool explain = true;
    /// For plain functions: the format of f's inputs, outputs and gradient. The checker rounds
    /// inputs and outputs to it, and steps from one of its numbers to another.
    Format format = Format::f64;
    /// The error of f's values, if its author knows it: absolute (a solver's tolerance), and
    /// relative (1e-6 if six digits are printed). The measured error counts if it is larger.
    double noise = 0;
    double relative_noise = 0;    ///< relative to f's values
    GradcheckLimits limits = {};  ///< bounds on what counts as wrong
    std::uint64_t seed = 1;       ///< of the weights and directions
};

/// "{.certainty = 0.99, .seed = 7}": the options that differ from their defaults; empty if none
/// does.
std::string to_string(const GradcheckOptions& options);

/// Checks df/dx of every input. f draws the same random numbers in every run. Throws DTypeError for
/// inputs that are not f64 (for an f32 function use compare_precisions(); integers must be captured
/// by f), ValueError for inputs that overlap in memory or are outside `bounds`. Exceptions of f at
/// x propagate; elsewhere std::domain_error and Error mean that f is not defined there.
GradcheckReport gradcheck(const TensorFunction& f, const Tensors& inputs,
                          const GradcheckOptions& options = {});

/// The same for a function of tensors that it captures: a loss of a module's named_parameters().
GradcheckReport gradcheck(const std::function<Tensor()>& f, const NamedTensors& leaves,
                          const GradcheckOptions& options = {});

/// The same for the gradient itself as a function of the inputs and the cotangent: checks second
/// derivatives, and whether the backward rules are recorded correctly.
GradcheckReport gradgradcheck(const TensorFunction& f, const Tensors& inputs,
                              const GradcheckOptions& options = {});
GradcheckReport gradgradcheck(const std::function<Tensor()>& f, const NamedTensors& leaves,
                              const GradcheckOptions& options = {});

}  // namespace tapestry
