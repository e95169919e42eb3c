// A list of functor types. A kernel table holds one function per entry, found by the type's
// position: adding a functor touches its own file and nothing else.
#pragma once

namespace tapestry::kernels {

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
