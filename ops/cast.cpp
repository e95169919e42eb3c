#include <tapestry/ops/cast.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/parallel.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/staging.h>

namespace tapestry {
namespace {

struct CastOp final : Op {
    CastOp() : Op("to") {}
    std::string attributes() const override { return std::string(name_of(outputs()[0].dtype)); }
    Tensors forward(const Tensors& x) const override { return {to(x[0], outputs()[0].dtype)}; }
    Tensors backward(const Tensors& grads) override { return {to(grads[0], inputs()[0].dtype)}; }
};

// Parallel, because training in a narrow type converts every parameter in every step, and every
// gradient back.
Tensor converted(const Tensor& x, DType dtype) {
    constexpr std::int64_t kGrain = 32'768;  // numbers worth a thread
    const bool narrows = x.dtype() == DType::f32 && is_narrow(dtype);
    const bool widens = is_narrow(x.dtype()) && dtype == DType::f32;
    if (!narrows && !widens) return cast(x, dtype);
    const Tensor from = dense(x);
    Tensor y(x.shape(), dtype);
    visit_stored("to", narrows ? dtype : x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (kIsNarrow<T>) {
            if (narrows) {
                T* const to = y.mutable_data<T>();
                parallel_for(x.numel(), kGrain,
                             [=, f32 = from.data<float>()](auto begin, auto end) {
                                 narrow(to + begin, f32 + begin, end - begin);
                             });
            } else {
                float* const to = y.mutable_data<float>();
                parallel_for(x.numel(), kGrain, [=, few = from.data<T>()](auto begin, auto end) {
                    widen(to + begin, few + begin, end - begin);
                });
            }
        }
    });
    return y;
}

}  // namespace

Tensor to(const Tensor& x, DType dtype) {
    check_defined("to", x);
    if (x.dtype() == dtype) return x;
    Tensor y = converted(x, dtype);
    if (!is_floating(dtype) || !is_floating(x.dtype())) return y;
    return record<CastOp>({x}, y);
}

}  // namespace tapestry
