// Norms and softmax by definition: layer norm and RMS norm over the last axis, batch norm and group
// norm.
#pragma once

#include <tapestry/ops/catalog/reference/reduction.h>

#include <map>

namespace tapestry::reference {

/// One row: (x - mean) / sqrt(var + eps), or for RMS norm x / sqrt(mean(x^2) + eps).
template <class T>
std::vector<T> normalised(const std::vector<T>& row, double eps, bool centred) {
    using std::sqrt;
    const T centre = centred ? mean(row) : T(0);
    T squares(0);
    for (const T& x : row) squares += (x - centre) * (x - centre);
    const T scale = sqrt(squares / T(static_cast<double>(row.size())) + T(eps));
    std::vector<T> y;
    for (const T& x : row) y.push_back((x - centre) / scale);
    return y;
}

/// y[r, i] = normalised(x[r])[i] weight[i] + bias[i]; empty arrays are skipped.
template <class T>
Array<T> norm(const Array<T>& x, const Array<T>& weight, const Array<T>& bias, double eps,
              bool centred) {
    Array<T> y(x.shape);
    const std::int64_t n = x.shape.back();
    for (std::int64_t first = 0; first < x.size(); first += n) {
        const auto begin = x.data.begin() + first;
        const std::vector<T> row = normalised(std::vector<T>(begin, begin + n), eps, centred);
        for (std::int64_t i = 0; i < n; ++i) {
            T value = row[static_cast<std::size_t>(i)];
            if (weight.size() > 0) value = value * weight[i];
            if (bias.size() > 0) value = value + bias[i];
            y[first + i] = value;
        }
    }
    return y;
}

// ---- batch norm and group norm ------------------------------------------------------------------
// Elements that share a mean are gathered, normalised and scattered back.

/// Weight and bias of channel c = index[1] of x [N, C, ...]; empty arrays are skipped.
template <class T>
T scaled(const T& u, std::int64_t c, const Array<T>& weight, const Array<T>& bias) {
    T y = u;
    if (weight.size() > 0) y = y * weight[c];
    if (bias.size() > 0) y = y + bias[c];
    return y;
}

/// Means are over one of `groups` groups of an image's channels or, if groups = 0, over a channel
/// of all images.
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

/// The same with given means and variances per channel.
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

// ---- softmax ------------------------------------------------------------------------------------
// Does not subtract the maximum: samples are small enough, and this is the familiar formula.

/// exp(x_i) / sum_j exp(x_j) along `axis`, counted from 0.
template <class T>
Array<T> softmax(const Array<T>& x, int axis) {
    using std::exp;
    const Groups<T> groups = groups_of(x, {axis}, true);
    std::vector<T> totals;
    for (const std::vector<T>& values : groups.values) {
        T total(0);
        for (const T& value : values) total += exp(value);
        totals.push_back(total);
    }
    Array<T> y(x.shape);
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const std::int64_t group = groups.group_of[static_cast<std::size_t>(i)];
        y[i] = exp(x[i]) / totals[static_cast<std::size_t>(group)];
    }
    return y;
}

/// log softmax(x)_i
template <class T>
Array<T> log_softmax(const Array<T>& x, int axis) {
    using std::log;
    return map(softmax(x, axis), [](const T& p) { return log(p); });
}

}  // namespace tapestry::reference
