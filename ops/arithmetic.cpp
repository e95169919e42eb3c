#include <tapestry/ops/arithmetic.h>

#include <tapestry/core/create.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/integer.h>
#include <tapestry/ops/map.h>
#include <tapestry/ops/reduction.h>

#include <cmath>

namespace tapestry {
namespace {

// Ops on two operands use the shapes of both to undo the broadcast.
struct BinaryOp : Op {
    using Op::Op;
    Tensor to_input(std::size_t i, const Tensor& grad) const {
        return sum_to(grad, inputs()[i].shape);
    }
};

}  // namespace

// ---- add ----------------------------------------------------------------------------------------

namespace {
struct AddOp final : BinaryOp {
    AddOp() : BinaryOp("add") {}
    Tensors forward(const Tensors& x) const override { return {add(x[0], x[1])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& g = grads[0];
        return {needs(0) ? to_input(0, g) : Tensor(), needs(1) ? to_input(1, g) : Tensor()};
    }
};
}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
    if (!is_floating(a.dtype())) return integer::add(a, b);
    Tensor y = map_binary<kernels::Add>("add", a, b);
    return record<AddOp>({a, b}, y);
}

Tensor add(const Tensor& a, double b) { return add(a, number_like("add", a, b)); }
Tensor operator+(double a, const Tensor& b) { return add(number_like("add", b, a), b); }

// Declared in autograd/tape.h.
Tensor accumulate_gradients(const Tensor& a, const Tensor& b) { return add(a, b); }

void accumulate_gradients_in_place(Tensor& a, const Tensor& b) {
    map_binary_into<kernels::Add>("add", a, a.detach(), b);
}

// ---- sub ----------------------------------------------------------------------------------------

namespace {
struct SubOp final : BinaryOp {
    SubOp() : BinaryOp("sub") {}
    Tensors forward(const Tensors& x) const override { return {sub(x[0], x[1])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& g = grads[0];
        return {needs(0) ? to_input(0, g) : Tensor(), needs(1) ? neg(to_input(1, g)) : Tensor()};
    }
};
}  // namespace

Tensor sub(const Tensor& a, const Tensor& b) {
    if (!is_floating(a.dtype())) return integer::sub(a, b);
    Tensor y = map_binary<kernels::Sub>("sub", a, b);
    return record<SubOp>({a, b}, y);
}

Tensor sub(const Tensor& a, double b) { return sub(a, number_like("sub", a, b)); }
Tensor operator-(double a, const Tensor& b) { return sub(number_like("sub", b, a), b); }

// ---- mul ----------------------------------------------------------------------------------------

namespace {
struct MulOp final : BinaryOp {
    MulOp(const Tensor& a, const Tensor& b) : BinaryOp("mul", {a, b}) {}
    bool is_cheap() const override { return true; }
    Tensors forward(const Tensors& x) const override { return {mul(x[0], x[1])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& g = grads[0];
        return {needs(0) ? to_input(0, mul(g, saved(1))) : Tensor(),
                needs(1) ? to_input(1, mul(g, saved(0))) : Tensor()};
    }
};
}  // namespace

Tensor mul(const Tensor& a, const Tensor& b) {
    if (!is_floating(a.dtype())) return integer::mul(a, b);
    Tensor y = map_binary<kernels::Mul>("mul", a, b);
    // A constant has no gradient, which is all that the other operand would be kept for.
    const Tape* const tape = Tape::current();
    const bool keeps_a = tape != nullptr && tape->follows(b);
    const bool keeps_b = tape != nullptr && tape->follows(a);
    return record<MulOp>({a, b}, y, keeps_a ? a : Tensor(), keeps_b ? b : Tensor());
}

Tensor mul(const Tensor& a, double b) { return mul(a, number_like("mul", a, b)); }
Tensor operator*(double a, const Tensor& b) { return mul(number_like("mul", b, a), b); }

// ---- div ----------------------------------------------------------------------------------------

namespace {
struct DivOp final : BinaryOp {
    DivOp(const Tensor& a, const Tensor& b) : BinaryOp("div", {a, b}) {}
    Tensors forward(const Tensors& x) const override { return {div(x[0], x[1])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& a = saved(0);
        const Tensor& b = saved(1);
        const Tensor over_b = div(grads[0], b);
        return {needs(0) ? to_input(0, over_b) : Tensor(),
                needs(1) ? to_input(1, neg(mul(over_b, div(a, b)))) : Tensor()};
    }
};
}  // namespace

Tensor div(const Tensor& a, const Tensor& b) {
    if (!is_floating(a.dtype())) return integer::div(a, b);
    Tensor y = map_binary<kernels::Div>("div", a, b);
    return record<DivOp>({a, b}, y, a, b);
}

Tensor div(const Tensor& a, double b) {
    if (!is_floating(a.dtype())) return integer::div(a, b);
    return div(a, number_like("div", a, b));
}
Tensor operator/(double a, const Tensor& b) {
    if (!is_floating(b.dtype())) return integer::div(a, b);
    return div(number_like("div", b, a), b);
}

// ---- pow ----------------------------------------------------------------------------------------

namespace {
struct PowOp final : BinaryOp {
    PowOp(const Tensor& a, const Tensor& b) : BinaryOp("pow", {a, b}) {}

    Tensors forward(const Tensors& x) const override { return {pow(x[0], x[1])}; }
    // The rule has special cases where the base is 0.
    Tensor decisions(const Tensors& x) const override { return side_of(x[0], 0); }
    Tensors backward(const Tensors& grads) override {
        const Tensor& a = saved(0);
        const Tensor& b = saved(1);
        Tensor to_a;
        Tensor to_b;
        if (needs(0)) {  // b a^(b-1); for 0^0 it is 0, not 0 * 0^-1, a NaN here or one order up
            const Tensor both = logical_and(eq(a, 0), eq(b, 0));
            const Tensor safe_b = where(both, scalar(1, b.dtype()), b);
            const Tensor slope = mul(b, pow(a, sub(safe_b, 1)));
            to_a = to_input(0, mul(grads[0], slope));
        }
        if (needs(1)) {  // a^b ln a; where a = 0, ln a = -inf and the limit is 0
            const Tensor at_zero = logical_and(eq(a, 0), ge(b, 0));
            const Tensor safe_a = where(at_zero, scalar(1, a.dtype()), a);
            const Tensor slope = where(at_zero, scalar(0, a.dtype()), mul(pow(a, b), log(safe_a)));
            to_b = to_input(1, mul(grads[0], slope));
        }
        return {to_a, to_b};
    }
};
}  // namespace

Tensor pow(const Tensor& a, const Tensor& b) {
    if (!is_floating(a.dtype())) return integer::pow(a, b);
    Tensor y = map_binary<kernels::Pow>("pow", a, b);
    return record<PowOp>({a, b}, y, a, b);
}

Tensor pow(const Tensor& a, double b) {
    if (!is_floating(a.dtype())) return integer::pow(a, number_like("pow", a, b));
    check_defined("pow", a);
    // Common exponents are correctly rounded and need no logarithm.
    if (b == 1) return mul(a, 1);
    if (b == 2) return square(a);
    if (b == 3) return mul(square(a), a);
    if (b == 0.5) return sqrt(a);
    if (b == -0.5) return rsqrt(a);
    if (b == -1) return 1.0 / a;
    return pow(a, number_like("pow", a, b));
}

Tensor pow(double a, const Tensor& b) {
    check_defined("pow", b);
    return pow(number_like("pow", b, a), b);
}

// ---- maximum and minimum ------------------------------------------------------------------------

namespace {
// The share of g that goes to a: 1 where a is chosen, 1/2 for ties, 0 elsewhere.
struct ExtremumOp final : BinaryOp {
    ExtremumOp(const char* name, const Tensor& a, const Tensor& b) : BinaryOp(name, {a, b}) {}

    Tensors forward(const Tensors& x) const override {
        return {name() == "maximum" ? maximum(x[0], x[1]) : minimum(x[0], x[1])};
    }
    Tensor decisions(const Tensors& x) const override { return side_of(x[0], x[1]); }
    Tensors backward(const Tensors& grads) override {
        const Tensor& a = saved(0);
        const Tensor& b = saved(1);
        const bool largest = name() == "maximum";
        const Tensor zero = scalar(0, a.dtype());
        const Tensor shared = where(eq(a, b), mul(grads[0], 0.5), grads[0]);
        const auto part = [&](std::size_t i, const Tensor& loses) {
            return needs(i) ? to_input(i, where(loses, zero, shared)) : Tensor();
        };
        return {part(0, largest ? lt(a, b) : gt(a, b)), part(1, largest ? gt(a, b) : lt(a, b))};
    }
};
}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) {
    if (!is_floating(a.dtype())) return integer::maximum(a, b);
    Tensor y = map_binary<kernels::Maximum>("maximum", a, b);
    return record<ExtremumOp>({a, b}, y, "maximum", a, b);
}

Tensor minimum(const Tensor& a, const Tensor& b) {
    if (!is_floating(a.dtype())) return integer::minimum(a, b);
    Tensor y = map_binary<kernels::Minimum>("minimum", a, b);
    return record<ExtremumOp>({a, b}, y, "minimum", a, b);
}

// ---- where --------------------------------------------------------------------------------------

namespace {
struct WhereOp final : BinaryOp {
    explicit WhereOp(const Tensor& condition) : BinaryOp("where", {condition}) {}
    Tensors forward(const Tensors& x) const override { return {where(x[0], x[1], x[2])}; }
    Tensor decisions(const Tensors& x) const override { return x[0]; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& chosen = saved(0);
        const Tensor& g = grads[0];
        const Tensor zero = scalar(0, g.dtype());
        return {Tensor(), needs(1) ? to_input(1, where(chosen, g, zero)) : Tensor(),
                needs(2) ? to_input(2, where(chosen, zero, g)) : Tensor()};
    }
};

template <class T>
void choose(const Tensor& condition, const Tensor& a, const Tensor& b, Tensor& y) {
    const Shape& shape = y.shape();
    const Loop<4> loop(shape, {y.strides(), broadcast_strides(condition, shape),
                               broadcast_strides(a, shape), broadcast_strides(b, shape)});
    const bool* chosen = condition.data<bool>();
    const T* from_a = a.data<T>();
    const T* from_b = b.data<T>();
    T* to = y.mutable_data<T>();
    loop.for_each_row([&](const auto& offsets, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) {
            to[offsets[0] + i * loop.inner_stride(0)] =
                chosen[offsets[1] + i * loop.inner_stride(1)]
                    ? from_a[offsets[2] + i * loop.inner_stride(2)]
                    : from_b[offsets[3] + i * loop.inner_stride(3)];
        }
    });
}
}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
    check_dtype("where", condition, DType::boolean);
    check_same_dtype("where", a, b);
    const Shape values = broadcast_shapes("where", a.shape(), b.shape());
    Tensor y(broadcast_shapes("where", condition.shape(), values), a.dtype());
    visit_dtype(a.dtype(), [&](auto zero) { choose<decltype(zero)>(condition, a, b, y); });
    return record<WhereOp>({condition, a, b}, y, condition);
}

Tensor where(const Tensor& condition, const Tensor& a, double b) {
    check_defined("where", a);
    return where(condition, a, element_like("where", a, b));
}

Tensor where(const Tensor& condition, double a, const Tensor& b) {
    check_defined("where", b);
    return where(condition, element_like("where", b, a), b);
}

// ---- clamp --------------------------------------------------------------------------------------

namespace {
struct ClampOp final : Op {
    ClampOp(const Tensor& x, double low, double high) : Op("clamp", {x}), low_(low), high_(high) {}
    std::string attributes() const override { return fmt::format("low={}, high={}", low_, high_); }
    Tensors forward(const Tensors& x) const override { return {clamp(x[0], low_, high_)}; }
    Tensor decisions(const Tensors& x) const override {
        return how_many({ge(x[0], low_), gt(x[0], low_), ge(x[0], high_), gt(x[0], high_)});
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        const Tensor inside = logical_and(ge(x, low_), le(x, high_));
        return {where(inside, grads[0], scalar(0, x.dtype()))};
    }

private:
    double low_;
    double high_;
};
}  // namespace

Tensor lerp(const Tensor& a, const Tensor& b, double w) {
    check_floating("lerp", a);
    check_same_dtype("lerp", a, b);
    const FloatingPointGuard standard;
    return add(mul(a, 1 - w), mul(b, w));
}

Tensor clamp(const Tensor& x, double low, double high) {
    check_defined("clamp", x);
    require(low <= high, "clamp: low must be at most high, got {} and {}", low, high);
    if (!is_floating(x.dtype())) return integer::clamp(x, low, high);
    const Tensor above = map_binary<kernels::Maximum>("clamp", x, scalar(low, x.dtype()));
    Tensor y = map_binary<kernels::Minimum>("clamp", above, scalar(high, x.dtype()));
    return record<ClampOp>({x}, y, x, low, high);
}

}  // namespace tapestry
