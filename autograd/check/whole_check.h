// One check from beginning to end, which gradcheck() and gradgradcheck() are both made of.
// Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/gradcheck.h>
#include <tapestry/autograd/check/subject.h>

namespace tapestry::checker {

/// Copies of the inputs that ask for their gradient, "input 0" and so on. Throws what gradcheck()
/// says of inputs.
NamedTensors named_leaves(const Tensors& inputs);
Tensors values_of(const NamedTensors& leaves);

/// The first derivatives of a function where its leaves stand now.
GradcheckReport check_subject(Subject& subject, const GradcheckOptions& options);

/// The same with the limits, bounds and points of `options`; `name` is what it is called.
GradcheckReport check_function(const Subject::Function& f, const NamedTensors& leaves,
                               const char* name, const GradcheckOptions& options);

}  // namespace tapestry::checker
