// Plain functions as an op on a tape: then everything that holds for tensors holds for them.
// Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/plain.h>
#include <tapestry/autograd/op.h>

#include <string>

namespace tapestry::checker {

/// What a check of plain functions is called, and what its numbers mean.
struct PlainCheck {
    const char* subject = "plain function";
    std::string call = {};           ///< "check_gradient(f, grad, {})": how it was asked for
    std::vector<Shape> shapes = {};  ///< of the inputs; none: vectors
    Shape output = {};               ///< empty: a vector, or [m, 2]
    bool pairs = false;              ///< are outputs pairs, as complex numbers are?
    std::vector<std::string> names = {"x"};
};

/// f near its inputs against its pullback. Throws what check_pullback() says.
GradcheckReport check_plain(const PlainFunctionOfInputs& f, const PlainPullbackOfInputs& pullback,
                            const PlainInputs& inputs, const PlainCheck& what,
                            const GradcheckOptions& options);

/// The same of a single input.
GradcheckReport check_plain(const PlainVectorFunction& f, const PlainPullback& pullback,
                            const std::vector<double>& x, const PlainCheck& what,
                            const GradcheckOptions& options);

/// f of the inputs, recorded. They are of f64, or of a narrower type that f computes in: numbers
/// are handed over as doubles, results have the type in which such numbers are computed with. f and
/// pullback must outlive the tape.
Tensor apply_plain(const Tensors& inputs, const PlainFunctionOfInputs& f,
                   const PlainPullbackOfInputs& pullback, const Shape& output);

/// The inputs as tensors of f64 that require a gradient. Throws for sizes that do not fit.
NamedTensors plain_leaves(const PlainInputs& inputs, const PlainCheck& what);

/// Is it a check's plain function, of which there is nothing else on the tape?
bool is_plain(const Op& op);

}  // namespace tapestry::checker
