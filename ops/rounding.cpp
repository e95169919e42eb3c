#include <tapestry/ops/rounding.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/map.h>
#include <tapestry/ops/whole.h>

namespace tapestry {
namespace {

using Function = Tensor (*)(const Tensor&);

struct StepOp final : Op {
    StepOp(const char* name, Function step) : Op(name), step_(step) {}

    Tensors forward(const Tensors& x) const override { return {step_(x[0])}; }
    // The step on which an element stands has the number of its value.
    Tensor decisions(const Tensors& x) const override {
        return cast(step_(x[0].detach()), DType::i64);
    }
    Tensors backward(const Tensors& grads) override { return {zeros_like(grads[0])}; }

private:
    Function step_;
};

template <class F>
Tensor step(const char* name, const Tensor& x, Function self) {
    if (x.defined() && x.dtype() == DType::i64) return self == sign ? whole::sign(x) : x.clone();
    Tensor y = map_unary<F>(name, x);
    return record<StepOp>({x}, y, name, self);
}

}  // namespace

Tensor sign(const Tensor& x) { return step<kernels::Sign>("sign", x, sign); }
Tensor floor(const Tensor& x) { return step<kernels::Floor>("floor", x, floor); }
Tensor ceil(const Tensor& x) { return step<kernels::Ceil>("ceil", x, ceil); }
Tensor round(const Tensor& x) { return step<kernels::Round>("round", x, round); }
Tensor trunc(const Tensor& x) { return step<kernels::Trunc>("trunc", x, trunc); }

}  // namespace tapestry
