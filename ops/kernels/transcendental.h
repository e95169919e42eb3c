// Logarithms, the error function, circular and hyperbolic functions: xsimd's, corrected where they
// are wrong (tests/ops/transcendental_test.cpp checks for 4 units in the last place). Part of the
// lists in unary.h and binary.h.
#pragma once

#include <tapestry/ops/kernels/functor.h>

namespace tapestry::kernels {

struct Log1p {
    template <class B>
    static B apply(const B& x) {
        return select(x == constant<B>(0), x, log1p(x));  // preserves -0
    }
};

/// xsimd's exp overflows half a power of two too early. From here on e^x is computed as the square
/// of e^(x/2), with twice the rounding error.
template <class B>
auto is_near_the_end(const B& x) {
    return x > constant<B>(sizeof(typename B::value_type) == 4 ? 88 : 709);
}
/// Below this e^x is subnormal, which xsimd's exp makes 0; its square root is not.
template <class B>
B exp_underflows() {
    return constant<B>(sizeof(typename B::value_type) == 4 ? -87 : -708);
}
template <class B>
B square_of_exp(const B& x) {
    const B root = exp(x * constant<B>(0.5));
    return root * root;
}

struct Expm1 {
    template <class B>
    static B apply(const B& x) {
        const B y = select(x == constant<B>(0), x, expm1(x));
        const auto large = is_near_the_end(x);
        return any(large) ? select(large, square_of_exp(x), y) : y;
    }
};

/// x scaled by 2^54 if it is subnormal, where xsimd's logarithms are wrong. Negative numbers, which
/// have no logarithm, are scaled as well, which does not matter.
template <class B>
struct Lifted {
    static constexpr double kLeast = sizeof(typename B::value_type) == 4 ? 0x1p-126 : 0x1p-1022;

    explicit Lifted(const B& x)
        : value(select(x < constant<B>(kLeast), x * constant<B>(0x1p54), x)),
          exponent(select(x < constant<B>(kLeast), constant<B>(54), constant<B>(0))) {}

    B value;     // x 2^exponent
    B exponent;  // 0 or 54
};

struct Log2 {
    template <class B>
    static B apply(const B& x) {
        const Lifted<B> lifted(x);
        return log2(lifted.value) - lifted.exponent;
    }
};

struct Log10 {
    template <class B>
    static B apply(const B& x) {
        const Lifted<B> lifted(x);
        return log10(lifted.value) - lifted.exponent * constant<B>(0.30102999566398119521);
    }
};

/// For f64, Cody's rational approximations, because xsimd's erf is only accurate to 14 digits, and
/// NaN for the largest numbers: x P(x^2)/Q(x^2) near 0, else 1 - e^(-x^2) P(x)/Q(x). The second,
/// designed for x up to 4, is used up to 6, where erf rounds to 1: beyond 4 the subtracted term is
/// below 2e-8, so its error does not matter.
/// Source: W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp.
/// 1969.
struct Erf {
    template <class B>
    static B apply(const B& x) {
        if constexpr (sizeof(typename B::value_type) == 4) {
            return erf(x);
        } else {
            const B size = abs(x);
            const B beyond = constant<B>(1) - complement(min(size, constant<B>(6)));
            return select(size < constant<B>(0.46875), near_zero(x),
                          select(x == x, copysign(beyond, x), x));
        }
    }

private:
    template <class B>
    static B near_zero(const B& x) {
        const B z = x * x;
        const B p = polynomial(z, 1.85777706184603153e-1, 3.16112374387056560,
                               1.13864154151050156e2, 3.77485237685302021e2, 3.20937758913846947e3);
        const B q = polynomial(z, 1.0, 2.36012909523441209e1, 2.44024637934444173e2,
                               1.28261652607737228e3, 2.84423683343917062e3);
        return x * (p / q);
    }

    /// 1 - erf(x) for 0.46875 <= x <= 6
    template <class B>
    static B complement(const B& x) {
        const B p =
            polynomial(x, 2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594,
                       6.61191906371416295e1, 2.98635138197400131e2, 8.81952221241769090e2,
                       1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3);
        const B q = polynomial(x, 1.0, 1.57449261107098347e1, 1.17693950891312499e2,
                               5.37181101862009858e2, 1.62138957456669019e3, 3.29079923573345963e3,
                               4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3);
        return exp(-x * x) * (p / q);
    }
};

struct Tan {
    template <class B>
    static B apply(const B& x) {
        return tan(x);
    }
};

struct Asin {
    template <class B>
    static B apply(const B& x) {
        return asin(x);
    }
};

struct Acos {
    template <class B>
    static B apply(const B& x) {
        return acos(x);
    }
};

struct Atan {
    template <class B>
    static B apply(const B& x) {
        return atan(x);
    }
};

struct Sinh {
    template <class B>
    static B apply(const B& x) {
        return sinh(x);
    }
};

struct Cosh {
    template <class B>
    static B apply(const B& x) {
        return cosh(x);
    }
};

/// xsimd divides y by x, so 0/0 and inf/inf give NaN. C defines angles for these (C11, F.10.1.4),
/// those of the corner of (x, y), which result from replacing a zero x, or infinities, by 1. If
/// both are small they are scaled up, which does not change the angle: NEON's reciprocal of a
/// subnormal number is infinite.
struct Atan2 {
    template <class B>
    static B apply(const B& y, const B& x) {
        const B one = constant<B>(1), small = constant<B>(0x1p-60);
        const B lift = select((abs(y) < small) & (abs(x) < small), constant<B>(0x1p60), one);
        const auto alike = abs(y) == abs(x);
        const auto infinite = alike & (abs(x) == constant<B>(__builtin_inf()));
        const auto corner = infinite | (alike & (x == constant<B>(0)));
        return atan2(select(infinite, copysign(one, y), y * lift),
                     select(corner, copysign(one, x), x * lift));
    }
};

}  // namespace tapestry::kernels
