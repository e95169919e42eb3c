// The softmax inside attention, and its gradient, over rows of one head's scores. A row is a query,
// a column a key. Three passes over a row that stays in L1: scale and find the largest,
// exponentials and their sum, division by the sum.
#pragma once

#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

/// Some rows of one head's scores, processed in place.
template <class T>
struct AttentionRows {
    T* scores = nullptr;
    std::int64_t rows = 0, columns = 0, stride = 0;
    /// Row i sees its first visible + i * visible_step columns, at least none and at most all; the
    /// others become 0. The step is 1 under a causal mask, else 0.
    std::int64_t visible = 0, visible_step = 0;
    T scale = 1;
    /// At most one mask with at least as many columns: `allowed` marks the columns that a row may
    /// see, `added` is added to the scaled scores. Rows are mask_stride apart.
    const bool* allowed = nullptr;
    const T* added = nullptr;
    std::int64_t mask_stride = 0;
};

template <class T>
constexpr T kMinusInfinity = -static_cast<T>(__builtin_inf());

template <class T>
std::int64_t visible_columns(const AttentionRows<T>& a, std::int64_t row) {
    const std::int64_t n = a.visible + row * a.visible_step;
    return n < 0 ? 0 : n > a.columns ? a.columns : n;
}

template <class T>
void set_zero(T* x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) x[i] = T(0);
}

// x = scale x + added; returns the largest.
template <class T>
T scale_row(T* x, const T* added, T scale, std::int64_t n) {
    const Batch<T> factor(scale);
    Batch<T> largest(kMinusInfinity<T>);
    const auto scaled = [&](const Batch<T>& v, const Batch<T>& plus) {
        const Batch<T> y = added != nullptr ? fma(v, factor, plus) : v * factor;
        return y;
    };
    std::int64_t i = 0;
    for (; i + kLanes<T> <= n; i += kLanes<T>) {
        const Batch<T> y = scaled(load(x + i), added != nullptr ? load(added + i) : factor);
        largest = xsimd::max(largest, y);
        store(x + i, y);
    }
    if (i < n) {  // lanes beyond the end must lose every comparison
        const Batch<T> plus = added != nullptr ? load_partial(added + i, n - i) : factor;
        store_partial(x + i, scaled(load_partial(x + i, n - i), plus), n - i);
        largest = xsimd::max(largest, load_partial(x + i, n - i, kMinusInfinity<T>));
    }
    return reduce_max(largest);
}

// x = exp(x - largest); returns the sum.
template <class T>
T exponentiate_row(T* x, T largest, std::int64_t n) {
    const Batch<T> shift(largest);
    Batch<T> sum(T(0));
    std::int64_t i = 0;
    for (; i + kLanes<T> <= n; i += kLanes<T>) {
        const Batch<T> y = xsimd::exp(load(x + i) - shift);
        sum += y;
        store(x + i, y);
    }
    if (i < n) {  // exp(-inf) = 0
        const Batch<T> y = xsimd::exp(load_partial(x + i, n - i, kMinusInfinity<T>) - shift);
        sum += y;
        store_partial(x + i, y, n - i);
    }
    return reduce_add(sum);
}

template <class T>
void multiply_row(T* x, T factor, std::int64_t n) {
    const Batch<T> f(factor);
    std::int64_t i = 0;
    for (; i + kLanes<T> <= n; i += kLanes<T>) store(x + i, load(x + i) * f);
    if (i < n) store_partial(x + i, load_partial(x + i, n - i) * f, n - i);
}

// No score compares larger than -inf. Either all are masked, and the row is 0, or there are NaNs,
// which comparisons miss but which must propagate.
template <class T>
void finish_row_without_largest(T* x, std::int64_t n) {
    T value = T(0);
    for (std::int64_t i = 0; i < n; ++i) value = x[i] != x[i] ? x[i] : value;
    for (std::int64_t i = 0; i < n; ++i) x[i] = value;
}

template <class T>
void softmax_long_row(T* x, const T* added, T scale, std::int64_t n) {
    const T largest = scale_row(x, added, scale, n);
    if (!(largest > kMinusInfinity<T>)) return finish_row_without_largest(x, n);
    const T sum = exponentiate_row(x, largest, n);
    multiply_row(x, T(1) / sum, n);
}

// The same bits for a row of `Vectors` vectors (the last may be partial), kept in registers. A
// short row is latency-bound; without round trips through memory the core overlaps it with the next
// rows.
template <class T, int Vectors>
void softmax_short_row(T* x, const T* added, T scale, std::int64_t n) {
    constexpr std::int64_t kLast = (Vectors - 1) * kLanes<T>;
    const std::int64_t rest = n - kLast;
    const Batch<T> factor(scale);
    const auto scaled = [&](const Batch<T>& v, const Batch<T>& plus) {
        return added != nullptr ? fma(v, factor, plus) : v * factor;
    };
    Batch<T> y[Vectors], largest(kMinusInfinity<T>);
#pragma GCC unroll 4
    for (int v = 0; v + 1 < Vectors; ++v) {
        const std::int64_t i = v * kLanes<T>;
        y[v] = scaled(load(x + i), added != nullptr ? load(added + i) : factor);
        largest = xsimd::max(largest, y[v]);
    }
    Batch<T>& last = y[Vectors - 1];
    if (rest == kLanes<T>) {
        last = scaled(load(x + kLast), added != nullptr ? load(added + kLast) : factor);
    } else {  // lanes beyond the end must lose every comparison
        const Batch<T> plus = added != nullptr ? load_partial(added + kLast, rest) : factor;
        last = first_lanes(scaled(load_partial(x + kLast, rest), plus), rest, kMinusInfinity<T>);
    }
    largest = xsimd::max(largest, last);
    const T most = reduce_max(largest);
    if (!(most > kMinusInfinity<T>)) return softmax_long_row(x, added, scale, n);
    const Batch<T> shift(most);
    Batch<T> sum(T(0));
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
        y[v] = xsimd::exp(y[v] - shift);  // exp(-inf) = 0
        sum += y[v];
    }
    const Batch<T> share(T(1) / reduce_add(sum));
#pragma GCC unroll 4
    for (int v = 0; v + 1 < Vectors; ++v) store(x + v * kLanes<T>, y[v] * share);
    if (rest == kLanes<T>) {
        store(x + kLast, last * share);
    } else {
        store_partial(x + kLast, last * share, rest);
    }
}

template <class T>
void softmax_row(T* x, const T* added, T scale, std::int64_t n) {
    if (n == 0) return;
    switch ((n - 1) / kLanes<T>) {
        case 0: return softmax_short_row<T, 1>(x, added, scale, n);
        case 1: return softmax_short_row<T, 2>(x, added, scale, n);
        case 2: return softmax_short_row<T, 3>(x, added, scale, n);
        case 3: return softmax_short_row<T, 4>(x, added, scale, n);
        default: return softmax_long_row(x, added, scale, n);
    }
}

/// p = softmax(scale scores + added) over the columns that a row sees; a row that sees none is all
/// 0.
template <class T>
void softmax_rows(const AttentionRows<T>& a) {
    for (std::int64_t row = 0; row < a.rows; ++row) {
        T* const x = a.scores + row * a.stride;
        const std::int64_t n = visible_columns(a, row);
        T scale = a.scale;
        if (a.allowed != nullptr) {
            const bool* const allowed = a.allowed + row * a.mask_stride;
            for (std::int64_t i = 0; i < n; ++i) {
                x[i] = allowed[i] ? scale * x[i] : kMinusInfinity<T>;
            }
            scale = T(1);
        }
        softmax_row(x, a.added != nullptr ? a.added + row * a.mask_stride : nullptr, scale, n);
        set_zero(x + n, a.columns - n);
    }
}

template <class T>
T dot_rows(const T* x, const T* y, std::int64_t n) {
    Batch<T> sum(T(0));
    std::int64_t i = 0;
    for (; i + kLanes<T> <= n; i += kLanes<T>) sum = fma(load(x + i), load(y + i), sum);
    if (i < n) sum = fma(load_partial(x + i, n - i), load_partial(y + i, n - i), sum);
    return reduce_add(sum);
}

/// dp, in place: ds = scale p (dp - sum_j dp_j p_j), for softmax_rows' result p, with rows p_stride
/// apart.
template <class T>
void softmax_rows_backward(const AttentionRows<T>& a, const T* p, std::int64_t p_stride) {
    const Batch<T> scale(a.scale);
    for (std::int64_t row = 0; row < a.rows; ++row, p += p_stride) {
        T* const dp = a.scores + row * a.stride;
        const std::int64_t n = visible_columns(a, row);
        const Batch<T> mean(dot_rows(dp, p, n));
        const auto slope = [&](const Batch<T>& dy, const Batch<T>& y) {
            return scale * y * (dy - mean);
        };
        std::int64_t i = 0;
        for (; i + kLanes<T> <= n; i += kLanes<T>) {
            store(dp + i, slope(load(dp + i), load(p + i)));
        }
        if (i < n) {
            const Batch<T> y = load_partial(p + i, n - i);
            store_partial(dp + i, slope(load_partial(dp + i, n - i), y), n - i);
        }
        set_zero(dp + n, a.columns - n);
    }
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
