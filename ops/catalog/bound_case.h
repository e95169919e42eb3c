// A sample of a row in the form that the gradient checker takes: a function of only its real
// inputs, with indices and masks bound, and the same function in dual numbers. Several real results
// are concatenated into one.
#pragma once

#include <tapestry/autograd/check/gradcheck.h>
#include <tapestry/ops/catalog/op_case.h>

namespace tapestry::catalog {

/// A single real result unchanged; several concatenated as a vector; undefined if none is real.
/// Recorded.
Tensor real_result(const Tensors& results);

/// The same for the definition's arrays, which have no dtype: those that are real in `results`.
std::vector<Dual> real_result(const reference::Arrays<Dual>& arrays, const Tensors& results);

struct BoundCase {
    TensorFunction f;
    Tensors inputs;
    DualFunction dual;
};

/// Binds `inputs`, from make_inputs(). The result has empty `inputs` if there is nothing to
/// differentiate.
BoundCase bind_case(const OpCase& row, const Tensors& inputs);

}  // namespace tapestry::catalog
