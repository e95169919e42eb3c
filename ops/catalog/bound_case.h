// A sample of a row as the gradient checker wants it: a function of its real inputs alone, the
// indices and masks being part of the function, and the same in dual numbers. Several results are
// one: all that are real, one after the other.
#pragma once

#include <tapestry/autograd/check/gradcheck.h>
#include <tapestry/ops/catalog/op_case.h>

namespace tapestry::catalog {

/// The one real result as it is; several joined as a vector; undefined if none is real. Recorded.
Tensor real_result(const Tensors& results);

/// The same of the definition's, which says nothing of types: those that are real in `results`.
std::vector<Dual> real_result(const reference::Arrays<Dual>& arrays, const Tensors& results);

struct BoundCase {
    TensorFunction f;
    Tensors inputs;
    DualFunction dual;
};

/// `inputs` as make_inputs() gives them. Empty `inputs` in the result: nothing to differentiate.
BoundCase bind_case(const OpCase& row, const Tensors& inputs);

}  // namespace tapestry::catalog
