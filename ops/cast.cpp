#include <tapestry/ops/cast.h>

#include <tapestry/core/copy.h>
#include <tapestry/ops/check.h>

namespace tapestry {
namespace {

struct CastOp final : Op {
    CastOp() : Op("to") {}
    std::string attributes() const override { return std::string(name_of(outputs()[0].dtype)); }
    Tensors forward(const Tensors& x) const override { return {to(x[0], outputs()[0].dtype)}; }
    Tensors backward(const Tensors& grads) override { return {to(grads[0], inputs()[0].dtype)}; }
};

}  // namespace

Tensor to(const Tensor& x, DType dtype) {
    check_defined("to", x);
    if (x.dtype() == dtype) return x;
    Tensor y = cast(x, dtype);
    if (!is_floating(dtype) || !is_floating(x.dtype())) return y;
    return record<CastOp>({x}, y);
}

}  // namespace tapestry
