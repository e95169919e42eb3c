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
        const auto far = is_near_the_end(x) | (x < exp_underflows<B>());
        return any(far) ? select(far, square_of_exp(x), y) : y;
    }
};

/// xsimd's of f64 is wrong for subnormal numbers, that of f32 is not.
struct Log {
    template <class B>
    static B apply(const B& x) {
        const B y = log(x);
        if constexpr (sizeof(typename B::value_type) == 8) {
            const auto subnormal = x < constant<B>(0x1p-1022);
            if (any(subnormal)) {
                const B lifted = log(x * constant<B>(0x1p54));  // 54 ln 2 too large
                return select(subnormal, lifted - constant<B>(37.429947750237046709), y);
            }
        }
        return y;
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

/// 1 / (1 + e^-x), and e^x where e^-x overflows.
struct Sigmoid {
    template <class B>
    static B apply(const B& x) {
        const B y = ordinary(x);
        const auto low = x < exp_underflows<B>();
        return any(low) ? select(low, square_of_exp(x), y) : y;
    }

    /// 0 where the result would be subnormal.
    template <class B>
    static B ordinary(const B& x) {
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

/// x sigmoid(x). The sigmoid underflows before the product does; at -inf the limit is 0.
struct Silu {
    template <class B>
    static B apply(const B& x) {
        const B y = x * Sigmoid::ordinary(x);
        const auto low = x < exp_underflows<B>();
        return any(low) ? select(low, far_left(x), y) : y;
    }

    /// x e^x, finite at -inf
    template <class B>
    static B far_left(const B& x) {
        const B finite = max(x, constant<B>(-2000));
        const B root = exp(finite * constant<B>(0.5));
        return finite * root * root;
    }
};

/// x tanh(softplus(x)) = x n / (n + 2) with n = e^x (e^x + 2), which from e^40 on is 1.
struct Mish {
    template <class B>
    static B apply(const B& x) {
        const B e = exp(min(x, constant<B>(40)));
        const B n = e * (e + constant<B>(2));
        const B y = x * (n / (n + constant<B>(2)));
        const auto low = x < exp_underflows<B>();
        return any(low) ? select(low, Silu::far_left(x), y) : y;
    }
};

/// x / (1 + |x|)
struct Softsign {
    template <class B>
    static B apply(const B& x) {
        const B one = constant<B>(1), size = abs(x);
        return select(size == constant<B>(__builtin_inf()), copysign(one, x), x / (size + one));
    }
};

/// Phi(x) = (1 + erf(x / sqrt 2)) / 2
struct NormalCdf {
    template <class B>
    static B apply(const B& x) {
        const B z = x * constant<B>(0.70710678118654752440);
        return constant<B>(0.5) + constant<B>(0.5) * Erf::apply(z);
    }
};

/// x Phi(x), where Phi is 0 long before x is infinite
struct GeluErf {
    template <class B>
    static B apply(const B& x) {
        return max(x, constant<B>(-1000)) * NormalCdf::apply(x);
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
        return Sigmoid::ordinary(constant<B>(kTwoRootTwoOverPi) * (x + cubic));
    }

    template <class B>
    static B apply(const B& x) {  // the gate is 0 long before x is infinite
        return max(x, constant<B>(-1000)) * gate(x);
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
         Mish, Softsign, NormalCdf, GeluErf, GeluTanh, Softplus, Sign, Floor, Ceil, Round, Trunc,
         Log1p, Expm1, Log2, Log10, Erf, Tan, Asin, Acos, Atan, Sinh, Cosh>;

}  // namespace tapestry::kernels
