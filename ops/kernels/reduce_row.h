// A row, or many rows column by column, reduced to one value by sum, max or min.
//
// Included only by kernel files (it needs simd.h). A naive f32 sum of n numbers loses about n ulp;
// here four vectors sum blocks of kBlock elements and blocks are combined pairwise, so the loss
// grows with log n (Higham, Accuracy and Stability of Numerical Algorithms, 4.2). The order is
// fixed by n and the ISA. Read next: reduce.cpp.
#pragma once

#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

struct SumReducer {
    template <class T>
    static constexpr T kIdentity = T(0);

    template <class B>
    static B combine(const B& a, const B& b) {
        return a + b;
    }

    template <class T>
    static T lanes(const Batch<T>& x) {
        return reduce_add<T>(x);
    }
};

/// The largest or smallest lane, without NaN. Compares in pairs to shorten the dependency chain.
template <int kSign, class T>
inline T extreme_lane(const Batch<T>& x) {
    alignas(64) T values[kLanes<T>];
    x.store_aligned(values);
    for (std::int64_t half = kLanes<T> / 2; half > 0; half /= 2) {
        for (std::int64_t i = 0; i < half; ++i) {
            const T other = values[i + half];
            values[i] = (kSign > 0 ? values[i] < other : other < values[i]) ? other : values[i];
        }
    }
    return values[0];
}

/// The largest (kSign 1) or smallest (-1). A NaN in either operand wins.
template <int kSign>
struct ExtremeReducer {
    template <class T>
    static constexpr T kIdentity = static_cast<T>(-kSign* __builtin_inf());

    template <class T>
    static Batch<T> combine(const Batch<T>& a, const Batch<T>& b) {
        // Not a != a: on AVX xsimd 8.1 uses an ordered comparison, which is false for NaN.
        const Batch<T> stays = select(a == a, b, a);
        if constexpr (kSign > 0) return select(a >= b, a, stays);
        return select(a <= b, a, stays);
    }

    template <class T>
    static T combine(T a, T b) {
        return (kSign > 0 ? a >= b : a <= b) || a != a ? a : b;
    }

    template <class T>
    static T lanes(const Batch<T>& x) {
        return all(x == x) ? extreme_lane<kSign>(x) : static_cast<T>(__builtin_nan(""));
    }
};

using MaxReducer = ExtremeReducer<1>;
using MinReducer = ExtremeReducer<-1>;

/// The largest in one instruction per vector, where NaN need not be preserved.
struct FastMaxReducer {
    template <class T>
    static constexpr T kIdentity = MaxReducer::kIdentity<T>;

    template <class T>
    static Batch<T> combine(const Batch<T>& a, const Batch<T>& b) {
        return max(a, b);
    }

    template <class T>
    static T combine(T a, T b) {
        return a < b ? b : a;
    }

    template <class T>
    static T lanes(const Batch<T>& x) {
        return extreme_lane<1>(x);
    }
};

/// The identity map: reduces x itself. Other maps give exp(x - m), (x - mean)^2, ... `fill` is the
/// value of the unused lanes of a tail: the map must send it to the reducer's identity.
template <class T>
struct Plain {
    T fill;
    Batch<T> operator()(const Batch<T>& x) const { return x; }
};

/// (x - from)^2
template <class T>
struct SquaredDistance {
    explicit SquaredDistance(T from) : centre(from), fill(from) {}
    Batch<T> operator()(const Batch<T>& x) const {
        const Batch<T> d = x - centre;
        return d * d;
    }
    Batch<T> centre;
    T fill;
};

/// Elements per set of four accumulators.
template <class T>
inline constexpr std::int64_t kBlock = 64 * kLanes<T>;

template <class F, class T, class Map>
inline T reduce_block(const T* x, std::int64_t n, const Map& map) {
    constexpr std::int64_t kStep = kLanes<T>;
    const Batch<T> identity(F::template kIdentity<T>);
    Batch<T> a = identity;
    Batch<T> b = identity;
    Batch<T> c = identity;
    Batch<T> d = identity;
    std::int64_t i = 0;
    for (; i + 4 * kStep <= n; i += 4 * kStep) {
        a = F::combine(a, map(load(x + i)));
        b = F::combine(b, map(load(x + i + kStep)));
        c = F::combine(c, map(load(x + i + 2 * kStep)));
        d = F::combine(d, map(load(x + i + 3 * kStep)));
    }
    for (; i + kStep <= n; i += kStep) {
        a = F::combine(a, map(load(x + i)));
    }
    if (i < n) b = F::combine(b, map(load_partial(x + i, n - i, map.fill)));
    return F::template lanes<T>(F::combine(F::combine(a, b), F::combine(c, d)));
}

/// The reduction of map(x[i]), 0 <= i < n; the identity when n is 0.
template <class F, class T, class Map>
inline T reduce_row(const T* x, std::int64_t n, const Map& map) {
    if (n <= kBlock<T>) return reduce_block<F>(x, n, map);
    const std::int64_t blocks = (n + kBlock<T> - 1) / kBlock<T>;
    const std::int64_t half = blocks / 2 * kBlock<T>;
    return F::combine(reduce_row<F>(x, half, map), reduce_row<F>(x + half, n - half, map));
}

template <class T>
inline T row_sum(const T* x, std::int64_t n) {
    return reduce_row<SumReducer>(x, n, Plain<T>{T(0)});
}

template <class T>
inline T row_max(const T* x, std::int64_t n) {
    return reduce_row<MaxReducer>(x, n, Plain<T>{MaxReducer::kIdentity<T>});
}

/// exp(x - shift), which softmax and logsumexp sum.
template <class T>
struct ShiftedExp {
    explicit ShiftedExp(T by) : shift(by) {}
    Batch<T> operator()(const Batch<T>& x) const { return exp(x - shift); }
    Batch<T> shift;
    T fill = MaxReducer::kIdentity<T>;
};

/// log of a scalar by the vector code, for the same bits and without <cmath>.
template <class T>
inline T scalar_log(T x) {
    return log(Batch<T>(x)).get(0);
}

/// The largest element, to subtract before exp; 0 instead of -inf, because -inf - -inf is NaN. May
/// miss a NaN in the row, which exp then propagates.
template <class T>
inline T softmax_shift(const T* x, std::int64_t n) {
    const T largest = reduce_row<FastMaxReducer>(x, n, Plain<T>{FastMaxReducer::kIdentity<T>});
    return largest == FastMaxReducer::kIdentity<T> ? T(0) : largest;
}

/// log(sum_i exp(x[i])); -inf when every x[i] is, or n is 0; inf when one is.
template <class T>
inline T row_logsumexp(const T* x, std::int64_t n) {
    const T shift = softmax_shift(x, n);
    const T total = reduce_row<SumReducer>(x, n, ShiftedExp<T>(shift));
    if (total > T(0)) return shift + scalar_log(total);
    return row_max(x, n);  // only -inf, an inf, or a NaN
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
