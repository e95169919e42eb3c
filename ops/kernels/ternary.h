// y = f(a, b, c), element by element: gradients of binary functions in one pass over memory. g is
// the gradient of the output, x the input; p a number that is the same for all elements.
#pragma once

#include <tapestry/ops/kernels/binary.h>

namespace tapestry::kernels {

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

/// g d, d held between -p and p
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
        return g * (Sigmoid::apply(x) - y);
    }
};

/// g (x - y) / (x (1 - x)), the quotient's lower part at least 1e-12
struct BceGrad {
    template <class B>
    static B apply(const B& g, const B& x, const B& y) {
        const B least = constant<B>(1e-12);
        const B spread = x * (constant<B>(1) - x);
        return g * (x - y) / select(spread < least, least, spread);
    }
};

/// -2 h g y, the derivative of g (1 - y^2) by y times h
struct TanhGradGrad {
    template <class B>
    static B apply(const B& h, const B& g, const B& y) {
        return constant<B>(-2) * h * g * y;
    }
};

using TernaryFunctions =
    List<LeakyReluGrad, EluGrad, HuberGrad, BceWithLogitsGrad, BceGrad, TanhGradGrad>;

}  // namespace tapestry::kernels
