// -std=c++20
// an Op must override both forward(const Tensors&) const and backward(const Tensors&)
#include <tapestry/autograd/tape.h>
using namespace tapestry;
struct TwiceOp : Op {
    TwiceOp() : Op("twice") {}
    Tensors backward(const Tensors& grads) override { return grads; }
};
Tensor twice(const Tensor& x, Tensor y) { return record<TwiceOp>({x}, y); }
