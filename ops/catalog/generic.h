// Definitions as the catalogue keeps them: generic lambdas, of plain and of dual numbers.
#pragma once

#include <tapestry/autograd/check/dual.h>

#include <functional>
#include <type_traits>
#include <utility>

namespace tapestry::catalog {

/// A generic lambda, for the two kinds of numbers that definitions are computed in, as one type for
/// all of them: what takes one is compiled once.
///     template <class T> using Binary = T(T, T);    Generic<Binary> plus([](auto a, auto b) { ...
///     });
template <template <class> class Signature>
class Generic {
public:
    template <class F>
    Generic(F f) : real_(f), dual_(f) {}

    template <class... A>
    auto operator()(const A&... a) const {
        if constexpr (std::is_invocable_v<Signature<double>*, A...>) {
            return real_(a...);
        } else {
            return dual_(a...);
        }
    }

private:
    std::function<Signature<double>> real_;
    std::function<Signature<Dual>> dual_;
};

}  // namespace tapestry::catalog
