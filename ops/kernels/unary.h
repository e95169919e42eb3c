// Elementwise y = f(x).
//
// One functor per function, written once for every vector type B: calls such as exp(x) find xsimd's
// by argument-dependent lookup. To add a function, write its functor and add its name to the list
// below.
#pragma once

#include <tapestry/ops/kernels/functor.h>
#include <tapestry/ops/kernels/transcendental.h>

namespace tapestry::kernels {

struct Neg {
    template <class B>
    static B apply(const B& x) {
        return -x;
    }
};

struct Abs {
    template <class B>
    static B apply(const B& x) {
        return abs(x);
    }
};

struct Square {
    template <class B>
    static B apply(const B& x) {
        return x * x;
    }
};

struct Sqrt {
    template <class B>
    static B apply(const B& x) {
        return sqrt(x);
    }
};

struct Rsqrt {
    template <class B>
    static B apply(const B& x) {  // rsqrtps is only accurate to 12 bits; this to 1.5 ulp
        return constant<B>(1) / sqrt(x);
    }
};

struct Exp {
    template <class B>
    static B apply(const B& x) {
        const B y = exp(x);
        const auto large = is_near_the_end(x);
        return any(large) ? select(large, square_of_exp(x), y) : y;
    }
};

struct Log {
    template <class B>
    static B apply(const B& x) {
        return log(x);
    }
};

struct Sin {
    template <class B>
    static B apply(const B& x) {
        return sin(x);
    }
};

struct Cos {
    template <class B>
    static B apply(const B& x) {
        return cos(x);
    }
};

struct Tanh {
    template <class B>
    static B apply(const B& x) {
        return tanh(x);
    }
};

/// 1 / (1 + e^-x). For very negative x, e^-x is inf and the quotient correctly 0.
struct Sigmoid {
    template <class B>
    static B apply(const B& x) {
        return constant<B>(1) / (constant<B>(1) + exp(-x));
    }
};

struct Relu {
    template <class B>
    static B apply(const B& x) {  // in this form NaN stays NaN
        return select(x <= constant<B>(0), constant<B>(0), x);
    }
};

/// max(x, 0)^2
struct ReluSquared {
    template <class B>
    static B apply(const B& x) {
        const B positive = Relu::apply(x);
        return positive * positive;
    }
};

/// x sigmoid(x)
struct Silu {
    template <class B>
    static B apply(const B& x) {
        return x * Sigmoid::apply(x);
    }
};

/// Phi(x) = (1 + erf(x / sqrt 2)) / 2
struct NormalCdf {
    template <class B>
    static B apply(const B& x) {
        return constant<B>(0.5) + constant<B>(0.5) * erf(x * constant<B>(0.70710678118654752440));
    }
};

/// x Phi(x)
struct GeluErf {
    template <class B>
    static B apply(const B& x) {
        return x * NormalCdf::apply(x);
    }
};

/// x (1 + tanh u) / 2 = x sigmoid(2u), with u = sqrt(2/pi) (x + 0.044715 x^3): one exponential and
/// one division, no branch.
struct GeluTanh {
    static constexpr double kTwoRootTwoOverPi = 1.59576912160573071176;
    static constexpr double kCubic = 0.044715;

    template <class B>
    static B gate(const B& x) {  // sigmoid(2u)
        const B cubic = constant<B>(kCubic) * x * x * x;
        return Sigmoid::apply(constant<B>(kTwoRootTwoOverPi) * (x + cubic));
    }

    template <class B>
    static B apply(const B& x) {
        return x * gate(x);
    }
};

/// log(1 + e^x), in a form in which e^x cannot overflow: max(x, 0) + log(1 + e^-|x|)
struct Softplus {
    template <class B>
    static B apply(const B& x) {
        return Relu::apply(x) + log1p(exp(-abs(x)));
    }
};

// ---- rounding and sign --------------------------------------------------------------------------

/// -1, 0 or 1; preserves -0 and NaN.
struct Sign {
    template <class B>
    static B apply(const B& x) {
        return select(x > constant<B>(0), constant<B>(1),
                      select(x < constant<B>(0), constant<B>(-1), x));
    }
};

// Rounding never changes the sign, but without SSE4.1 xsimd rounds via integers, which have no -0,
// so the sign is restored.

struct Floor {
    template <class B>
    static B apply(const B& x) {
        return copysign(floor(x), x);
    }
};

struct Ceil {
    template <class B>
    static B apply(const B& x) {
        return copysign(ceil(x), x);
    }
};

/// To nearest, ties to even.
struct Round {
    template <class B>
    static B apply(const B& x) {
        return copysign(nearbyint(x), x);
    }
};

/// Toward zero.
struct Trunc {
    template <class B>
    static B apply(const B& x) {
        return copysign(trunc(x), x);
    }
};

// ---- the list -----------------------------------------------------------------------------------

using UnaryFunctions =
    List<Neg, Abs, Square, Sqrt, Rsqrt, Exp, Log, Sin, Cos, Tanh, Sigmoid, Relu, ReluSquared, Silu,
         NormalCdf, GeluErf, GeluTanh, Softplus, Sign, Floor, Ceil, Round, Trunc, Log1p, Expm1,
         Log2, Log10, Erf, Tan, Asin, Acos, Atan, Sinh, Cosh>;

}  // namespace tapestry::kernels
