// What std::function is for, cheaper to compile: the catalogue makes a thousand, and much of the
// time to compile its rows went into what std::function writes down for each.
#pragma once

#include <tapestry/autograd/check/dual.h>

#include <memory>
#include <type_traits>
#include <utility>

namespace tapestry::catalog {

/// An object whose type is forgotten; copies share it.
using Held = std::shared_ptr<const void>;

/// Takes over what `object` points to.
Held hold(const void* object, void (*release)(const void*));

template <class T>
Held hold(T object) {
    return hold(new T(std::move(object)), [](const void* p) { delete static_cast<const T*>(p); });
}

template <class Signature>
class Callable;

/// Something that is called with A... and gives R; copies share it.
template <class R, class... A>
class Callable<R(A...)> {
public:
    using Function = R (*)(A...);

    Callable() = default;
    /// run(object, a...)
    Callable(Held object, R (*run)(const void*, A...)) : object_(std::move(object)), run_(run) {}
    /// A function, or a lambda that is as good as one.
    template <class F>
    requires(std::is_convertible_v<F, Function>) Callable(F f)
        : Callable(hold(static_cast<Function>(f)), call<Function>) {}
    template <class F>
    requires(!std::is_convertible_v<F, Function> && std::is_invocable_r_v<R, const F&, A...>)
        Callable(F f)
        : Callable(hold(std::move(f)), call<F>) {}

    R operator()(A... a) const { return run_(object_.get(), static_cast<A>(a)...); }

private:
    template <class F>
    static R call(const void* object, A... a) {
        return (*static_cast<const F*>(object))(static_cast<A>(a)...);
    }

    Held object_;
    R (*run_)(const void*, A...) = nullptr;
};

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
    Callable<Signature<double>> real_;
    Callable<Signature<Dual>> dual_;
};

}  // namespace tapestry::catalog
