// Are the gradients right? Held against central differences whose error is known, so that nobody
// has to choose a tolerance; and where they are wrong: which op is, and what it seems to do.
//
//     const GradcheckReport report = gradcheck(f, {x, w});
//     fmt::print("{}\n", report);                        // one screen
//     if (!report) ...                                   // FAIL or INCONCLUSIVE
//
// The outputs are weighted with random numbers before they are added up: a plain sum is blind to
// whatever cancels in it (softmax sums to one, so its gradient under a sum is zero whatever the
// rule says). docs/gradient-checking.md explains it all.
#pragma once

#include <tapestry/autograd/check/dual.h>
#include <tapestry/autograd/check/report.h>
#include <tapestry/core/tensor.h>

#include <functional>
#include <optional>

namespace tapestry {

using TensorFunction = std::function<Tensor(const Tensors&)>;

/// The function in dual numbers: inputs row-major, outputs row-major.
using DualFunction = std::function<std::vector<Dual>(const std::vector<std::vector<Dual>>&)>;

enum class GradcheckMethod {
    automatic,   ///< per input, the most thorough that stays cheap
    jacobian,    ///< every output element by every input element
    entries,     ///< every input element, for all outputs weighted together
    directions,  ///< random directions of all elements of one input together
};

struct GradcheckOptions {
    GradcheckMethod method = GradcheckMethod::automatic;
    /// Where directions are used: as many of them as let no error slip through all with more than
    /// probability 1 - certainty.
    double certainty = 0.999;
    /// Setting one of these replaces the derived tolerance by PyTorch's test,
    /// |claimed - numeric| <= atol + rtol |numeric| with step eps, and its defaults for the others:
    /// 1e-6, 1e-5 and 1e-3.
    std::optional<double> eps = {}, atol = {}, rtol = {};
    /// May f be called far from x: with steps beyond x's own size, and at -x? What lives on a tape
    /// is made of functions that are defined wherever numbers are; of plain functions nobody knows.
    bool far_steps = true;
    /// Where the numbers of the inputs may lie: one for all, or one for each number of all inputs
    /// in turn. No far steps are taken then; on a bound, steps go inwards alone.
    std::vector<Bounds> bounds = {};
    /// Points that are looked at: x, and others nearby, drawn at random (every number moves by up
    /// to half of itself). A rule that is wrong somewhere may be right at x.
    int points = 1;
    /// Called before every evaluation, for a function that keeps something between calls: a
    /// generator, a solver's last result. (Plain functions: also before every call of the
    /// gradient.)
    std::function<void()> reset = {};
    /// The first oracle; without it the others are asked alone.
    bool differences = true;
    /// A second oracle: the same function in dual numbers, exact to rounding.
    DualFunction dual = {};
    /// A third: <v, J u> by jvp() against <J^T v, u>: whether the rules are linear, and record
    /// themselves rightly. gradgradcheck() always asks it.
    bool transpose = false;
    /// Same inputs twice, one thread against several, with and without recompute().
    bool preconditions = true;
    /// Name the first wrong op and the likely mistake.
    bool explain = true;
    /// Of plain functions: f's inputs, outputs and gradient live in this format. The checker rounds
    /// inputs and outputs to it, and moves from one of its numbers to another.
    Format format = Format::f64;
    /// By how much f's values may be off, where its author knows: so much (a solver's tolerance),
    /// and this part of themselves (1e-6 if six digits are printed). What is measured counts where
    /// it is more.
    double noise = 0;
    double relative_noise = 0;
    GradcheckLimits limits = {};
    std::uint64_t seed = 1;
};

/// "{.certainty = 0.99, .seed = 7}": what differs from the defaults; empty if nothing does.
std::string to_string(const GradcheckOptions& options);

/// df/dx of every input. What f draws from generators is frozen. Throws DTypeError for inputs that
/// are not f64 (an f32 function: compare_precisions(); integers: let f capture them), ValueError
/// for inputs that overlap in memory or lie outside `bounds`. What f throws at x goes through;
/// elsewhere std::domain_error and Error mean that f is not defined there.
GradcheckReport gradcheck(const TensorFunction& f, const Tensors& inputs,
                          const GradcheckOptions& options = {});

/// The same for a function of tensors that it knows: a loss of a module's named_parameters().
GradcheckReport gradcheck(const std::function<Tensor()>& f, const NamedTensors& leaves,
                          const GradcheckOptions& options = {});

/// The same for the gradient itself as a function of the inputs and the cotangent: second
/// derivatives, and whether the backward rules record themselves rightly.
GradcheckReport gradgradcheck(const TensorFunction& f, const Tensors& inputs,
                              const GradcheckOptions& options = {});
GradcheckReport gradgradcheck(const std::function<Tensor()>& f, const NamedTensors& leaves,
                              const GradcheckOptions& options = {});

}  // namespace tapestry
