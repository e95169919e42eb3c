// Elementwise y = f(a, b) and y = f(a, b, c). They include the derivatives of unary and binary
// functions times a gradient, so backward is one pass over memory.
#pragma once

#include <tapestry/ops/kernels/functor.h>
#include <tapestry/ops/kernels/unary.h>

namespace tapestry::kernels {

struct Add {
    template <class B>
    static B apply(const B& a, const B& b) {
        return a + b;
    }
};

struct Sub {
    template <class B>
    static B apply(const B& a, const B& b) {
        return a - b;
    }
};

struct Mul {
    template <class B>
    static B apply(const B& a, const B& b) {
        return a * b;
    }
};

struct Div {
    template <class B>
    static B apply(const B& a, const B& b) {
        return a / b;
    }
};

/// C's pow (C11, F.10.4.4). Defined in power.h.
struct Pow {
    template <class B>
    static B apply(const B& a, const B& b);
};

/// NaN if either is, as in NumPy and PyTorch. (a == a rather than a != a: on AVX, xsimd 8.1's != is
/// false for NaN.)
struct Maximum {
    template <class B>
    static B apply(const B& a, const B& b) {
        return select(a >= b, a, select(a == a, b, a));
    }
};

struct Minimum {
    template <class B>
    static B apply(const B& a, const B& b) {
        return select(a <= b, a, select(a == a, b, a));
    }
};

// ---- with a parameter p, the same for all elements ----------------------------------------------

/// x where x > 0, else p x
struct LeakyRelu {
    template <class B>
    static B apply(const B& x, const B& p) {
        return select(x > constant<B>(0), x, p * x);
    }
};

/// x where x > 0, else p (e^x - 1)
struct Elu {
    template <class B>
    static B apply(const B& x, const B& p) {
        return select(x > constant<B>(0), x, p * expm1(x));
    }
};

/// d^2 / 2 where |d| <= p, else p (|d| - p / 2): a parabola continued by its tangents
struct Huber {
    template <class B>
    static B apply(const B& d, const B& p) {
        const B half = constant<B>(0.5);
        const B size = abs(d);
        return select(size > p, p * (size - half * p), half * d * d);
    }
};

// ---- losses: x is the prediction, y the target --------------------------------------------------

/// log(1 + e^x) - x y, in a form in which e^x does not overflow and a small loss is not lost next
/// to x: for large x and y = 1, max(x, 0) - x y is exactly 0.
struct BceWithLogits {
    template <class B>
    static B apply(const B& x, const B& y) {
        return (Relu::apply(x) - x * y) + log1p(exp(-abs(x)));
    }
};

/// -y log x - (1 - y) log(1 - x), with logarithms clamped to at least -100
struct Bce {
    template <class B>
    static B log_of(const B& log) {  // NaN stays NaN
        return select(log < constant<B>(-100), constant<B>(-100), log);
    }
    template <class B>
    static B apply(const B& x, const B& y) {
        const B one = constant<B>(1);
        return (y - one) * log_of(log1p(-x)) - y * log_of(Log::apply(x));
    }
};

/// y (log y - x), and 0 where y is 0
struct KlDiv {
    template <class B>
    static B apply(const B& x, const B& y) {
        return select(y == constant<B>(0), constant<B>(0), y * (Log::apply(y) - x));
    }
};

// ---- gradients: g is the gradient of the output y, x the input ----------------------------------

/// g sign(x)
struct AbsGrad {
    template <class B>
    static B apply(const B& g, const B& x) {
        const B zero = constant<B>(0);
        return select(x > zero, g, select(x < zero, -g, x + zero));  // -0 + 0 = 0
    }
};

/// g unless x <= 0: NaN has it too, as in PyTorch.
struct ReluGrad {
    template <class B>
    static B apply(const B& g, const B& x) {
        return select(x <= constant<B>(0), constant<B>(0), g);
    }
};

/// 2 g x unless x <= 0: NaN where x is
struct ReluSquaredGrad {
    template <class B>
    static B apply(const B& g, const B& x) {
        return select(x <= constant<B>(0), constant<B>(0), (g + g) * x);
    }
};

/// g (1 - y^2)
struct TanhGrad {
    template <class B>
    static B apply(const B& g, const B& y) {
        return g * (constant<B>(1) - y * y);
    }
};

/// g y (1 - y)
struct SigmoidGrad {
    template <class B>
    static B apply(const B& g, const B& y) {
        return g * y * (constant<B>(1) - y);
    }
};

/// g s (1 + x (1 - s)), s = sigmoid(x). Far out that is 0 times infinity, or s underflows.
struct SiluGrad {
    template <class B>
    static B apply(const B& g, const B& x) {
        const B one = constant<B>(1);
        const B s = Sigmoid::ordinary(x);
        const B y = g * s * (one + x * (one - s));
        const auto far = abs(x) > -exp_underflows<B>();
        return any(far) ? select(far, far_out(g, x), y) : y;
    }

private:
    /// g on the right, g e^x (1 + x) on the left
    template <class B>
    static B far_out(const B& g, const B& x) {
        const B one = constant<B>(1);
        const B left = max(x, constant<B>(-2000));
        const B root = exp(left * constant<B>(0.5));
        return select(x > one, g, g * root * ((one + left) * root));
    }
};

/// g (n / (n + 2) + 4 x e^x (e^x + 1) / (n + 2)^2), with n of Mish. From e^40 on it is g.
struct MishGrad {
    template <class B>
    static B apply(const B& g, const B& x) {
        const B one = constant<B>(1), two = constant<B>(2);
        const B finite = max(min(x, constant<B>(40)), constant<B>(-1000));
        const B e = exp(finite);
        const B n = e * (e + two);
        const B part = one / (n + two);
        const B bent = constant<B>(4) * finite * (e * part) * ((e + one) * part);
        return select(x == x, g * (n * part + bent), x);
    }
};

/// g / (1 + |x|)^2
struct SoftsignGrad {
    template <class B>
    static B apply(const B& g, const B& x) {
        const B part = constant<B>(1) / (constant<B>(1) + abs(x));
        return g * part * part;
    }
};

/// g (Phi(x) + x phi(x)), phi the normal density, which is 0 long before x is infinite
struct GeluErfGrad {
    template <class B>
    static B apply(const B& g, const B& x) {
        const B density = constant<B>(0.39894228040143267794) * exp(constant<B>(-0.5) * x * x);
        const B finite = select(abs(x) < constant<B>(100), x, constant<B>(0));
        return g * (NormalCdf::apply(x) + finite * density);
    }
};

/// g (s + x s (1 - s) d(2u)/dx), s = sigmoid(2u). For large |x| s is 0 or 1 and the other factors
/// are 0, times x^3, which must not become 0 times infinity.
struct GeluTanhGrad {
    template <class B>
    static B apply(const B& g, const B& x) {
        const B s = GeluTanh::gate(x);
        const B bent = select(abs(x) < constant<B>(100), x, constant<B>(0));
        const B slope = constant<B>(GeluTanh::kTwoRootTwoOverPi) *
                        (constant<B>(1) + constant<B>(3 * GeluTanh::kCubic) * bent * bent);
        return g * s * (constant<B>(1) + bent * (constant<B>(1) - s) * slope);
    }
};

using BinaryFunctions =
    List<Add, Sub, Mul, Div, Pow, Maximum, Minimum, ReluGrad, ReluSquaredGrad, TanhGrad,
         SigmoidGrad, SiluGrad, MishGrad, SoftsignGrad, GeluErfGrad, GeluTanhGrad, Atan2, AbsGrad,
         LeakyRelu, Elu, Huber, BceWithLogits, Bce, KlDiv>;

// ---- ternary ------------------------------------------------------------------------------------
// Gradients of binary functions. g is the gradient of the output, x the input, p a parameter that
// is the same for all elements.

/// g where x > 0, else p g
struct LeakyReluGrad {
    template <class B>
    static B apply(const B& g, const B& x, const B& p) {
        return select(x > constant<B>(0), g, p * g);
    }
};

/// g where x > 0, else g p e^x
struct EluGrad {
    template <class B>
    static B apply(const B& g, const B& x, const B& p) {
        return select(x > constant<B>(0), g, g * p * exp(x));
    }
};

/// g d, with d clamped to [-p, p]
struct HuberGrad {
    template <class B>
    static B apply(const B& g, const B& d, const B& p) {
        return g * select(d > p, p, select(d < -p, -p, d));
    }
};

/// g (sigmoid(x) - y)
struct BceWithLogitsGrad {
    template <class B>
    static B apply(const B& g, const B& x, const B& y) {
        return g * (Sigmoid::ordinary(x) - y);
    }
};

/// g (x - y) / (x (1 - x)), with the denominator at least 1e-12
struct BceGrad {
    template <class B>
    static B apply(const B& g, const B& x, const B& y) {
        const B least = constant<B>(1e-12);
        const B spread = x * (constant<B>(1) - x);
        return g * (x - y) / select(spread < least, least, spread);
    }
};

/// -2 h g y: h times the derivative of g (1 - y^2) with respect to y
struct TanhGradGrad {
    template <class B>
    static B apply(const B& h, const B& g, const B& y) {
        return constant<B>(-2) * h * g * y;
    }
};

using TernaryFunctions =
    List<LeakyReluGrad, EluGrad, HuberGrad, BceWithLogitsGrad, BceGrad, TanhGradGrad>;

}  // namespace tapestry::kernels
