// Whole numbers near x, and its sign. Part of the list in unary.h.
#pragma once

#include <tapestry/ops/kernels/constant.h>

namespace tapestry::kernels {

/// -1, 0 or 1; zeros and NaN as they are.
struct Sign {
    template <class B>
    static B apply(const B& x) {
        return select(x > constant<B>(0), constant<B>(1),
                      select(x < constant<B>(0), constant<B>(-1), x));
    }
};

// Rounding never changes a sign, but without SSE4.1 xsimd rounds by way of integers, which have no
// -0: the sign is put back.

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

/// To the nearest, halves to the even one.
struct Round {
    template <class B>
    static B apply(const B& x) {
        return copysign(nearbyint(x), x);
    }
};

/// Towards zero.
struct Trunc {
    template <class B>
    static B apply(const B& x) {
        return copysign(trunc(x), x);
    }
};

}  // namespace tapestry::kernels
