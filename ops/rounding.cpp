// Piecewise functions: an op's decisions give the piece on which an element lies; within a piece
// the gradient is smooth.
#include <tapestry/ops/rounding.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/integer.h>
#include <tapestry/ops/map.h>
#include <tapestry/ops/reduction.h>

#include <cmath>

namespace tapestry {

// ---- sign, floor, ceil, round, trunc ------------------------------------------------------------

namespace {

using Function = Tensor (*)(const Tensor&);

struct StepOp final : Op {
    StepOp(const char* name, Function step) : Op(name), step_(step) {}

    Tensors forward(const Tensors& x) const override { return {step_(x[0])}; }
    // A step is identified by its value.
    Tensor decisions(const Tensors& x) const override {
        return cast(step_(x[0].detach()), DType::i64);
    }
    Tensors backward(const Tensors& grads) override { return {zeros_like(grads[0])}; }

private:
    Function step_;
};

template <class F>
Tensor step(const char* name, const Tensor& x, Function self) {
    if (x.defined() && x.dtype() == DType::i64) return self == sign ? integer::sign(x) : x.clone();
    Tensor y = map_unary<F>(name, x);
    return record<StepOp>({x}, y, name, self);
}

}  // namespace

Tensor sign(const Tensor& x) { return step<kernels::Sign>("sign", x, sign); }
Tensor floor(const Tensor& x) { return step<kernels::Floor>("floor", x, floor); }
Tensor ceil(const Tensor& x) { return step<kernels::Ceil>("ceil", x, ceil); }
Tensor round(const Tensor& x) { return step<kernels::Round>("round", x, round); }
Tensor trunc(const Tensor& x) { return step<kernels::Trunc>("trunc", x, trunc); }

// ---- integer quotients of two numbers -----------------------------------------------------------

namespace {

// Each functor has a floating-point and an integer form. The integer divisor -1 is a special case:
// the lowest i64 divided by -1 overflows, and the processor traps.
template <class T>
bool opposite(T rest, T divisor) {
    return rest != 0 && (rest < 0) != (divisor < 0);
}

struct Truncated {
    template <class T>
    T operator()(T a, T b) const {
        return std::fmod(a, b);
    }
    std::int64_t operator()(std::int64_t a, std::int64_t b) const { return b == -1 ? 0 : a % b; }
};

struct Remainder {
    template <class T>
    T operator()(T a, T b) const {
        const T rest = Truncated()(a, b);
        return opposite(rest, b) ? rest + b : rest;
    }
};

struct FloorQuotient {
    // From the exact remainder, as in Python: a / b may round up to the next integer. In f64,
    // because a - rest is no f32 in general.
    template <class T>
    T operator()(T a, T b) const {
        if (b == 0) return a / b;
        const double rest = std::fmod(a, b), multiple = a - rest;
        const double quotient = std::round(multiple / b) - (opposite(rest, double{b}) ? 1 : 0);
        return quotient == 0 ? std::copysign(T(0), a / b) : static_cast<T>(quotient);
    }
    std::int64_t operator()(std::int64_t a, std::int64_t b) const {
        if (b == -1) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
        return a / b - (opposite(a % b, b) ? 1 : 0);
    }
};

template <class F>
Tensor divided(std::string_view op, const Tensor& a, const Tensor& b, F f) {
    check_same_dtype(op, a, b);
    require<DTypeError>(a.dtype() != DType::boolean,
                        "{}: needs floating-point numbers or i64, got bool", op);
    if (a.dtype() == DType::i64) {
        const auto place =
            integer::first_place(b, [](std::int64_t divisor) { return divisor == 0; });
        require(!place || b.rank() > 0, "{}: division by zero", op);
        require(!place, "{}: division by zero, at {} of the divisor {}", op,
                place.value_or(Shape()), b.shape());
    }
    Tensor y(broadcast_shapes(op, a.shape(), b.shape()), a.dtype());
    visit_dtype(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (!std::is_same_v<T, bool>) map_plain_into<T>(y, a, b, f);
    });
    return y;
}

// The integer quotient identifies the piece on which an element lies.
Tensor as_decision(const Tensor& quotient) { return cast(quotient, DType::i64); }

}  // namespace

// ---- floor_divide -------------------------------------------------------------------------------

namespace {
struct FloorDivideOp final : Op {
    FloorDivideOp() : Op("floor_divide") {}
    Tensors forward(const Tensors& x) const override { return {floor_divide(x[0], x[1])}; }
    Tensor decisions(const Tensors& x) const override {
        return as_decision(divided("floor_divide", x[0], x[1], FloorQuotient()));
    }
    Tensors backward(const Tensors&) override {
        return {zeros(inputs()[0].shape, inputs()[0].dtype),
                zeros(inputs()[1].shape, inputs()[1].dtype)};
    }
};
}  // namespace

Tensor floor_divide(const Tensor& a, const Tensor& b) {
    Tensor y = divided("floor_divide", a, b, FloorQuotient());
    return record<FloorDivideOp>({a, b}, y);
}

Tensor floor_divide(const Tensor& a, double b) {
    return floor_divide(a, number_like("floor_divide", a, b));
}

// ---- remainder, fmod ----------------------------------------------------------------------------

namespace {
// a - b q, where q, the integer quotient, is piecewise constant.
struct RemainderOp final : Op {
    using Quotient = Tensor (*)(const Tensor& a, const Tensor& b);
    RemainderOp(const char* name, Quotient quotient, const Tensor& a, const Tensor& b)
        : Op(name, {a, b}), quotient_(quotient) {}

    Tensors forward(const Tensors& x) const override {
        return {name() == "fmod" ? fmod(x[0], x[1]) : remainder(x[0], x[1])};
    }
    Tensor decisions(const Tensors& x) const override {
        return as_decision(quotient_(x[0].detach(), x[1].detach()));
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor& g = grads[0];
        return {
            needs(0) ? sum_to(g, inputs()[0].shape) : Tensor(),
            needs(1) ? sum_to(-(g * quotient_(saved(0), saved(1))), inputs()[1].shape) : Tensor()};
    }

private:
    Quotient quotient_;
};
}  // namespace

Tensor remainder(const Tensor& a, const Tensor& b) {
    Tensor y = divided("remainder", a, b, Remainder());
    const RemainderOp::Quotient quotient = floor_divide;
    return record<RemainderOp>({a, b}, y, "remainder", quotient, a, b);
}

Tensor remainder(const Tensor& a, double b) { return remainder(a, number_like("remainder", a, b)); }

Tensor fmod(const Tensor& a, const Tensor& b) {
    Tensor y = divided("fmod", a, b, Truncated());
    const auto quotient = [](const Tensor& x, const Tensor& by) { return trunc(x / by); };
    return record<RemainderOp>({a, b}, y, "fmod", quotient, a, b);
}

Tensor fmod(const Tensor& a, double b) { return fmod(a, number_like("fmod", a, b)); }

}  // namespace tapestry
