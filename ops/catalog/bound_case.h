// A sample of a row as the gradient checker wants it: a function of its real inputs alone, the
// indices and masks being part of the function, and the same in dual numbers.
#pragma once

#include <tapestry/autograd/check/gradcheck.h>
#include <tapestry/ops/catalog/op_case.h>

namespace tapestry::catalog {

struct BoundCase {
    TensorFunction f;
    Tensors inputs;
    DualFunction dual;
};

/// `inputs` as make_inputs() gives them. Empty `inputs` in the result: nothing to differentiate.
BoundCase bind_case(const OpCase& row, const Tensors& inputs);

}  // namespace tapestry::catalog
