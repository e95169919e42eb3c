// Building blocks of functors: constants in the element type of a vector, polynomials with such
// coefficients, and lists of functors.
#pragma once

namespace tapestry::kernels {

/// A constant in the element type of a vector (or of a scalar) B.
template <class B>
constexpr B constant(double value) {
    return B(static_cast<typename B::value_type>(value));
}

/// The polynomial with these coefficients, highest power first, by Horner's rule.
template <class B, class... Coefficients>
B polynomial(const B& x, double highest, Coefficients... rest) {
    B y = constant<B>(highest);
    ((y = y * x + constant<B>(rest)), ...);
    return y;
}

/// A list of functor types. A kernel table holds one function per entry, found by the type's
/// position: adding a functor touches its own file and nothing else.
template <class... Functors>
struct List {
    static constexpr int size = sizeof...(Functors);
};

template <class F, class ListOfF>
inline constexpr int kIndexOf = -1;

template <class F, class... Rest>
inline constexpr int kIndexOf<F, List<F, Rest...>> = 0;

template <class F, class First, class... Rest>
inline constexpr int kIndexOf<F, List<First, Rest...>> = 1 + kIndexOf<F, List<Rest...>>;

}  // namespace tapestry::kernels
