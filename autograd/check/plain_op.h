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

/// Is it a check's plain function, of which there is nothing else on the tape?
bool is_plain(const Op& op);

}  // namespace tapestry::checker
