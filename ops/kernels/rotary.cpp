// Compiled once per ISA. For halves, pairs are in separate vectors. Interleaved pairs are rotated
// in place, two vectors at a time,
//
//     y = x [c c d d ...] + x with neighbours exchanged * [-s s -t t ...]
//
// so only the table's entries, each used for two elements, move between lanes.
#include <tapestry/ops/kernels/rotary.h>
#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

/// Lane i of the result is lane Lanes[i] of x.
template <class T, int... Lanes>
Batch<T> rearranged(const Batch<T>& x) {
    const typename Batch<T>::register_type lanes = x;
    return Batch<T>(__builtin_shufflevector(lanes, lanes, Lanes...));
}

template <class T, class Lanes>
struct Shuffle;

template <int... I>
struct LaneNumbers {};

template <class T, int... I>
struct Shuffle<T, LaneNumbers<I...>> {
    static constexpr int kHalf = sizeof...(I) / 2;
    /// b a d c ...
    static Batch<T> exchanged(const Batch<T>& x) { return rearranged<T, (I ^ 1)...>(x); }
    /// a a b b ..., from the first half of x
    static Batch<T> first_twice(const Batch<T>& x) { return rearranged<T, (I / 2)...>(x); }
    /// The same from the second half.
    static Batch<T> last_twice(const Batch<T>& x) { return rearranged<T, (kHalf + I / 2)...>(x); }
    /// -x x -x x ...
    static Batch<T> alternating(T x) {
        alignas(64) const T lanes[] = {(I % 2 == 0 ? -x : x)...};
        return Batch<T>::load_aligned(lanes);
    }
};

template <int N, int... I>
struct LanesUpTo : LanesUpTo<N - 1, N - 1, I...> {};

template <int... I>
struct LanesUpTo<0, I...> {
    using Type = LaneNumbers<I...>;
};

template <class T>
using Lanes = Shuffle<T, typename LanesUpTo<static_cast<int>(kLanes<T>)>::Type>;

/// Loads min(n, lanes) numbers, n >= 0.
template <class T>
Batch<T> load_up_to(const T* p, std::int64_t n) {
    if (n <= 0) return Batch<T>(T(0));
    return n < kLanes<T> ? load_partial(p, n) : load(p);
}

template <class T>
void store_up_to(T* p, const Batch<T>& x, std::int64_t n) {
    if (n <= 0) return;
    n < kLanes<T> ? store_partial(p, x, n) : store(p, x);
}

template <class T>
Batch<T> turned(const Batch<T>& x, const Batch<T>& cos, const Batch<T>& sin) {
    return fma(x, cos, rounded<T>(Lanes<T>::exchanged(x) * sin));
}

template <class T>
void turn_neighbours(T* to, const T* from, const T* cos, const T* sin, std::int64_t pairs,
                     const Batch<T>& signs) {
    constexpr std::int64_t kN = kLanes<T>;
    for_each_vector<T>(pairs, [&](std::int64_t i, const auto& part) {
        const Batch<T> c = part.get(cos + i), s = part.get(sin + i);
        const std::int64_t left = 2 * (pairs - i);  // elements, of which this step takes 2 kN
        const T* const x = from + 2 * i;
        T* const y = to + 2 * i;
        const Batch<T> low = load_up_to(x, left), high = load_up_to(x + kN, left - kN);
        store_up_to(y, turned(low, Lanes<T>::first_twice(c), Lanes<T>::first_twice(s) * signs),
                    left);
        store_up_to(y + kN, turned(high, Lanes<T>::last_twice(c), Lanes<T>::last_twice(s) * signs),
                    left - kN);
    });
}

template <class T>
void turn_halves(T* to, const T* from, const T* cos, const T* sin, std::int64_t pairs,
                 const Batch<T>& direction) {
    for_each_vector<T>(pairs, [&](std::int64_t i, const auto& part) {
        const Batch<T> c = part.get(cos + i), s = part.get(sin + i) * direction;
        const Batch<T> a = part.get(from + i), b = part.get(from + pairs + i);
        part.put(to + i, fma(a, c, rounded<T>(-b * s)));
        part.put(to + pairs + i, fma(b, c, rounded<T>(a * s)));
    });
}

template <class T>
void copy_rest(const RotaryRows<T>& r, T* to, const T* from) {
    for (std::int64_t i = 2 * r.pairs; i < r.width; ++i) to[i] = from[i];
}

template <class T, class Turn>
void each_row(const RotaryRows<T>& r, const Turn& turn) {
    for (std::int64_t i = 0; i < r.rows; ++i) {
        T* const to = r.to + i * r.to_row;
        const T* const from = r.from + i * r.from_row;
        turn(to, from, r.cos + i * r.pairs, r.sin + i * r.pairs);
        copy_rest(r, to, from);
    }
}

template <class T>
void interleaved(const RotaryRows<T>& r) {
    const Batch<T> signs = Lanes<T>::alternating(r.direction);
    each_row(r, [&](T* to, const T* from, const T* cos, const T* sin) {
        turn_neighbours(to, from, cos, sin, r.pairs, signs);
    });
}

template <class T>
void halves(const RotaryRows<T>& r) {
    const Batch<T> direction(r.direction);
    each_row(r, [&](T* to, const T* from, const T* cos, const T* sin) {
        turn_halves(to, from, cos, sin, r.pairs, direction);
    });
}

template <class T>
void fill(Rotary<T>& kernels) {
    kernels = {interleaved<T>, halves<T>};
}

}  // namespace

template <>
void install(Rotary<float>& kernels) {
    fill(kernels);
}

template <>
void install(Rotary<double>& kernels) {
    fill(kernels);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
