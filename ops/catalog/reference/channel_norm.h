// Batch norm and group norm by definition: the numbers that share a mean are gathered, normalised
// and put back.
#pragma once

#include <tapestry/ops/catalog/reference/norm.h>

#include <map>

namespace tapestry::reference {

/// What channel c = index[1] of x [N, C, ...] is multiplied by and what is added; an empty array
/// stands for none.
template <class T>
T scaled(const T& u, std::int64_t c, const Array<T>& weight, const Array<T>& bias) {
    T y = u;
    if (weight.size() > 0) y = y * weight[c];
    if (bias.size() > 0) y = y + bias[c];
    return y;
}

/// Means are over an image's channels of one of `groups`, or, for 0 groups, over a channel of all
/// images.
template <class T>
Array<T> channel_norm(const Array<T>& x, const Array<T>& weight, const Array<T>& bias, double eps,
                      std::int64_t groups) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> rows;
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const Shape at = unravel(x.shape, i);
        const std::int64_t c = at[1];
        rows[groups == 0 ? std::pair(std::int64_t{0}, c)
                         : std::pair(at[0], c * groups / x.shape[1])]
            .push_back(i);
    }
    Array<T> y(x.shape);
    for (const auto& [which, places] : rows) {
        std::vector<T> row;
        for (const std::int64_t i : places) row.push_back(x[i]);
        row = normalised(row, eps, true);
        for (std::size_t k = 0; k < places.size(); ++k) {
            const std::int64_t i = places[k];
            y[i] = scaled(row[k], unravel(x.shape, i)[1], weight, bias);
        }
    }
    return y;
}

/// The same with each channel's mean and variance given.
template <class T>
Array<T> channel_norm_given(const Array<T>& x, const Array<T>& mean, const Array<T>& var,
                            const Array<T>& weight, const Array<T>& bias, double eps) {
    using std::sqrt;
    Array<T> y(x.shape);
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const std::int64_t c = unravel(x.shape, i)[1];
        y[i] = scaled((x[i] - mean[c]) / sqrt(var[c] + T(eps)), c, weight, bias);
    }
    return y;
}

}  // namespace tapestry::reference
