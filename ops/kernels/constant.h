// Numbers in the element type of a vector, and polynomials with such coefficients.
#pragma once

namespace tapestry::kernels {

/// A constant in the element type of a vector (or of a scalar) B.
template <class B>
constexpr B constant(double value) {
    return B(static_cast<typename B::value_type>(value));
}

/// The polynomial with these coefficients, that of the highest power first, by Horner's rule.
template <class B, class... Coefficients>
B polynomial(const B& x, double highest, Coefficients... rest) {
    B y = constant<B>(highest);
    ((y = y * x + constant<B>(rest)), ...);
    return y;
}

}  // namespace tapestry::kernels
