// The gradient of keeping some elements is keeping the same ones: one recorded function is the
// forward pass and the backward pass of every order.
#include <tapestry/ops/dropout.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/dropout_mask.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/staging.h>

#include <cmath>

namespace tapestry {

Tensor draw_dropout_mask(const Shape& shape, double p, Generator& generator) {
    constexpr std::int64_t kWords = 4;  // per Philox counter
    const auto limit = static_cast<std::uint64_t>(std::round((1 - p) * 0x1p32));
    if (limit >> 32U != 0) return bernoulli(shape, 1 - p, generator);  // keeps all
    Tensor kept(shape, DType::boolean);
    const std::int64_t n = kept.numel();
    const std::uint64_t key = generator.seed();
    const std::uint64_t first =
        generator.take(static_cast<std::uint64_t>((n + kWords - 1) / kWords));
    bool* const to = kept.mutable_data<bool>();
    const auto draw = kernels::table<float>().dropout_mask.draw;
    static_assert(kGrain % kWords == 0, "a piece begins with a counter");
    parallel_for(n, kGrain, [=](std::int64_t begin, std::int64_t end) {
        draw(to + begin, key, first + static_cast<std::uint64_t>(begin / kWords),
             static_cast<std::uint32_t>(limit), end - begin);
    });
    return kept;
}

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
            const auto* const row = some.data();
            auto* const out = result.data();
            for (std::int64_t i = 0; i < n; ++i) out[i] = chosen[begin + i] ? factor * row[i] : 0;
        });
    });
    return record<DropoutOp>({x}, y, kept, p);
}

}  // namespace

Tensor dropout(const Tensor& x, double p, bool training, Generator& generator) {
    check_floating("dropout", x);
    require(p >= 0 && p <= 1, "dropout: p must be in [0, 1], got {}", p);
    if (!training || p == 0) return x;
    return keep(x, draw_dropout_mask(x.shape(), p, generator), p);
}

}  // namespace tapestry
