// The gradient of "keep some" is "keep the same ones": one function, which records itself, is the
// forward pass and the backward pass of every order.
#include <tapestry/ops/dropout.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/keep.h>
#include <tapestry/ops/staging.h>

namespace tapestry {
namespace {

Tensor keep(const Tensor& x, const Tensor& kept, double p);

struct DropoutOp final : Op {
    DropoutOp(const Tensor& kept, double p) : Op("dropout", {kept}), p_(p) {}
    std::string attributes() const override { return fmt::format("p={}", p_); }
    Tensors forward(const Tensors& x) const override { return {keep(x[0], saved(0), p_)}; }
    Tensors backward(const Tensors& grads) override { return {keep(grads[0], saved(0), p_)}; }

private:
    double p_;
};

Tensor keep(const Tensor& x, const Tensor& kept, double p) {
    const Tensor in = dense(x);
    Tensor y(x.shape(), x.dtype());
    visit_stored("dropout", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* from = in.data<T>();
        const bool* chosen = kept.data<bool>();
        T* to = y.mutable_data<T>();
        const auto factor = static_cast<Compute<T>>(keep_factor(p));
        parallel_for(y.numel(), kGrain, [=](std::int64_t begin, std::int64_t end) {
            const std::int64_t n = end - begin;
            const Widened<T> some(from + begin, n);
            const Narrowed<T> result(to + begin, n);
            keep_some(result.data(), some.data(), chosen + begin, factor, n);
        });
    });
    return record<DropoutOp>({x}, y, kept, p);
}

}  // namespace

Tensor dropout(const Tensor& x, double p, bool training, Generator& generator) {
    check_floating("dropout", x);
    require(p >= 0 && p <= 1, "dropout: p = {} is not a probability from 0 to 1", p);
    if (!training || p == 0) return x;
    return keep(x, drawn_to_keep(x.shape(), p, generator), p);
}

}  // namespace tapestry
