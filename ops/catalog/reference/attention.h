// Attention, query by query (Vaswani et al. 2017, equation 1), and rotary positions, pair by pair
// (Su et al. 2021, equation 34).
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

#include <algorithm>
#include <cmath>

namespace tapestry::reference {

template <class T>
struct Attention {
    bool causal = false;
    double scale = 1;
    const Array<T>* allowed = nullptr;  ///< 0: may not attend
    const Array<T>* added = nullptr;    ///< added to the scaled scores
    const Array<T>* kept = nullptr;     ///< 0: the weight is dropped
    double keep_factor = 1;             ///< scale of the kept weights
};

/// x [..., G, S, D] expanded to `heads` heads, [..., H, S, D]: head h has x's head h G / H.
template <class T>
Array<T> for_each_head(const Array<T>& x, std::int64_t heads) {
    const int head = x.shape.rank() - 3;
    Shape shape = x.shape;
    shape[head] = heads;
    Array<T> y(shape);
    for (std::int64_t i = 0; i < y.size(); ++i) {
        Shape index = unravel(shape, i);
        index[head] = index[head] * x.shape[head] / heads;
        y[i] = x[ravel_broadcast(x.shape, index)];
    }
    return y;
}

/// y[..., t, :] = sum_s w[t, s] v[..., s, :], w[t, :] = softmax_s(scale q[..., t, :] . k[..., s,
/// :]). All have the same leading axes.
template <class T>
Array<T> attention(const Array<T>& q, const Array<T>& k, const Array<T>& v,
                   const Attention<T>& options) {
    using std::exp;
    const int rank = q.shape.rank();
    const std::int64_t queries = q.shape[rank - 2], keys = k.shape[rank - 2];
    const std::int64_t size = q.shape.back(), out = v.shape.back();
    Shape shape = q.shape;
    shape.back() = out;
    Array<T> y(shape);
    Shape scores = q.shape;
    scores.back() = keys;
    const std::int64_t rows = numel(shape.sub(0, rank - 1));
    for (std::int64_t row = 0; row < rows; ++row) {  // one query of one head
        const std::int64_t head = row / queries;
        const std::int64_t t = row % queries;
        const auto of = [&](const Array<T>* mask, std::int64_t s) {
            return (*mask)[ravel_broadcast(mask->shape, unravel(scores, row * keys + s))];
        };
        std::vector<T> score(static_cast<std::size_t>(keys), T(-INFINITY));
        for (std::int64_t s = 0; s < keys; ++s) {
            if (options.causal && s > t + keys - queries) continue;
            if (options.allowed != nullptr && of(options.allowed, s) == T(0)) continue;
            T total = T(0);
            for (std::int64_t i = 0; i < size; ++i) {
                total += q[row * size + i] * k[(head * keys + s) * size + i];
            }
            total *= T(options.scale);
            if (options.added != nullptr) total += of(options.added, s);
            score[static_cast<std::size_t>(s)] = total;
        }
        // exp(s - max) gives the same quotient and does not overflow.
        const T largest = keys == 0 ? T(0) : *std::max_element(score.begin(), score.end());
        if (largest == T(-INFINITY)) continue;  // attends to no key: zeros
        T sum = T(0);
        for (T& one : score) {
            one = one == T(-INFINITY) ? T(0) : exp(one - largest);
            sum += one;
        }
        for (std::int64_t s = 0; s < keys; ++s) {
            T w = score[static_cast<std::size_t>(s)] / sum;
            if (options.kept != nullptr) w *= of(options.kept, s) * T(options.keep_factor);
            for (std::int64_t i = 0; i < out; ++i) {
                y[row * out + i] += w * v[(head * keys + s) * out + i];
            }
        }
    }
    return y;
}

// ---- rotary positions ---------------------------------------------------------------------------

/// x [..., T, D] with pair i of row t rotated by the angle (first + t) / base^(2 i / turned), for
/// the first `turned` elements of each row. Pair i is (x_2i, x_2i+1), or with `halves`
/// (x_i, x_i+R/2).
template <class T>
Array<T> rotary(const Array<T>& x, std::int64_t turned, bool halves, std::int64_t first,
                double base) {
    Array<T> y = x;
    const std::int64_t width = x.shape.back(), length = x.shape[x.shape.rank() - 2];
    for (std::int64_t row = 0; width > 0 && row < x.size() / width; ++row) {
        for (std::int64_t i = 0; i < turned / 2; ++i) {
            const double angle =
                static_cast<double>(first + row % length) *
                std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(turned));
            const std::int64_t a = row * width + (halves ? i : 2 * i);
            const std::int64_t b = a + (halves ? turned / 2 : 1);
            y[a] = x[a] * T(std::cos(angle)) - x[b] * T(std::sin(angle));
            y[b] = x[a] * T(std::sin(angle)) + x[b] * T(std::cos(angle));
        }
    }
    return y;
}

}  // namespace tapestry::reference
