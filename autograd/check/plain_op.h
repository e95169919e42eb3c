// Wraps a plain function as an op on a tape, so everything written for tensors applies to it.
// Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/plain.h>
#include <tapestry/autograd/op.h>

#include <string>

namespace tapestry::checker {

/// The name of a check of plain functions, and the meaning of its numbers.
struct PlainCheck {
    const char* subject = "plain function";
    std::string call = {};           ///< "check_gradient(f, grad, {})": the call
    std::vector<Shape> shapes = {};  ///< of the inputs; none: vectors
    Shape output = {};               ///< empty: a vector, or [m, 2]
    bool pairs = false;              ///< outputs are pairs, as complex numbers are
    std::vector<std::string> names = {"x"};
};

/// Checks f near its inputs against its pullback. Throws as check_pullback() does.
GradcheckReport check_plain(const PlainFunctionOfInputs& f, const PlainPullbackOfInputs& pullback,
                            const PlainInputs& inputs, const PlainCheck& what,
                            const GradcheckOptions& options);

/// The same for a single input.
GradcheckReport check_plain(const PlainVectorFunction& f, const PlainPullback& pullback,
                            const std::vector<double>& x, const PlainCheck& what,
                            const GradcheckOptions& options);

/// f of the inputs, recorded. They are f64, or a narrower type in which f computes: numbers are
/// passed as doubles, results have the compute_dtype() of the inputs. f and pullback must outlive
/// the tape. `reused`: memory for these numbers, from the last call.
Tensor apply_plain(const Tensors& inputs, const PlainFunctionOfInputs& f,
                   const PlainPullbackOfInputs& pullback, const Shape& output,
                   PlainInputs* reused = nullptr);

/// The inputs as f64 tensors that require a gradient. Throws for sizes that do not match.
NamedTensors plain_leaves(const PlainInputs& inputs, const PlainCheck& what);

/// Whether this is the plain function of a check, in which case nothing else is on the tape.
bool is_plain(const Op& op);

}  // namespace tapestry::checker
