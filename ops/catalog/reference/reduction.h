// Reductions by definition: every element of x belongs to the element of y whose index is its own
// without the reduced axes. Also running sums and products. For any number type T (see array.h).
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

#include <algorithm>
#include <limits>

namespace tapestry::reference {

/// The values of x that make up each element of y, in order: groups[i] for y[i].
template <class T>
struct Groups {
    Shape shape;  // of y
    std::vector<std::vector<T>> values;
    std::vector<std::int64_t> group_of;  // the group of each element of x
};

/// `axes` count from 0; with keepdim they keep size 1.
template <class T>
Groups<T> groups_of(const Array<T>& x, const std::vector<int>& axes, bool keepdim) {
    const auto reduced = [&](int axis) {
        return axes.empty() || std::find(axes.begin(), axes.end(), axis) != axes.end();
    };
    Shape kept;  // 1 where reduced
    Groups<T> groups;
    for (int axis = 0; axis < x.shape.rank(); ++axis) {
        kept.push_back(reduced(axis) ? 1 : x.shape[axis]);
        if (!reduced(axis) || keepdim) groups.shape.push_back(kept.back());
    }
    groups.values.resize(static_cast<std::size_t>(numel(kept)));
    for (std::int64_t i = 0; i < x.size(); ++i) {
        groups.group_of.push_back(ravel_broadcast(kept, unravel(x.shape, i)));
        groups.values[static_cast<std::size_t>(groups.group_of.back())].push_back(x[i]);
    }
    return groups;
}

/// y[i] = f(the values of group i)
template <class T, class F>
Array<T> reduce(const Array<T>& x, const std::vector<int>& axes, bool keepdim, F f) {
    const Groups<T> groups = groups_of(x, axes, keepdim);
    Array<T> y(groups.shape);
    for (std::int64_t i = 0; i < y.size(); ++i)
        y[i] = f(groups.values[static_cast<std::size_t>(i)]);
    return y;
}

template <class T>
T sum(const std::vector<T>& values) {
    T total(0);
    for (const T& value : values) total += value;
    return total;
}

/// sum / n
template <class T>
T mean(const std::vector<T>& values) {
    return sum(values) / T(static_cast<double>(values.size()));
}

template <class T>
T max(const std::vector<T>& values) {
    return *std::max_element(values.begin(), values.end());
}

template <class T>
T min(const std::vector<T>& values) {
    return *std::min_element(values.begin(), values.end());
}

/// sum (x - mean)^2 / (n - correction)
template <class T>
T var(const std::vector<T>& values, int correction) {
    const T centre = mean(values);
    T total(0);
    for (const T& value : values) total += (value - centre) * (value - centre);
    return total / T(std::max(0.0, static_cast<double>(values.size()) - correction));
}

/// The square root of var, with derivative 0 at 0.
template <class T>
T stddev(const std::vector<T>& values, int correction) {
    using std::sqrt;
    const T variance = var(values, correction);
    return variance == T(0) ? T(0) : sqrt(variance);
}

template <class T>
T prod(const std::vector<T>& values) {
    T product(1);
    for (const T& value : values) product *= value;
    return product;
}

/// (sum |x|^p)^(1/p), with derivative 0 at 0; the limits for p = inf and -inf; for p = 0 the number
/// of nonzero x.
template <class T>
T norm(const std::vector<T>& values, double p) {
    using std::abs;
    using std::pow;
    std::vector<T> sizes;
    for (const T& value : values) sizes.push_back(abs(value));
    if (p == std::numeric_limits<double>::infinity()) return max(sizes);
    if (p == -std::numeric_limits<double>::infinity()) return min(sizes);
    T total(0);
    for (const T& size : sizes) {
        if (p == 0) {
            total += size == T(0) ? T(0) : T(1);
        } else {
            total += pow(size, T(p));
        }
    }
    return p == 0 || total == T(0) ? total : pow(total, T(1 / p));
}

template <class T>
T any(const std::vector<T>& values) {
    return T(std::any_of(values.begin(), values.end(), [](const T& x) { return x != T(0); }));
}

template <class T>
T all(const std::vector<T>& values) {
    return T(std::all_of(values.begin(), values.end(), [](const T& x) { return x != T(0); }));
}

/// log sum exp(x); -inf over no elements
template <class T>
T logsumexp(const std::vector<T>& values) {
    using std::exp;
    using std::log;
    if (values.empty()) return T(-std::numeric_limits<double>::infinity());
    T total(0);
    for (const T& value : values) total += exp(value);
    return log(total);
}

/// The index of the largest, the first of equals.
template <class T>
T argmax(const std::vector<T>& values) {
    return T(static_cast<double>(std::max_element(values.begin(), values.end()) - values.begin()));
}

/// The index of the smallest, the first of equals.
template <class T>
T argmin(const std::vector<T>& values) {
    return T(static_cast<double>(std::min_element(values.begin(), values.end()) - values.begin()));
}

/// Sums x to `shape`, the adjoint of broadcasting.
template <class T>
Array<T> sum_to(const Array<T>& x, const Shape& shape) {
    Array<T> y(shape);
    for (std::int64_t i = 0; i < x.size(); ++i) {
        y[ravel_broadcast(shape, unravel(x.shape, i))] += x[i];
    }
    return y;
}

// ---- running sums and products ------------------------------------------------------------------

/// y_i = x_0 + ... + x_i along `axis`, counted from 0.
template <class T>
Array<T> cumsum(const Array<T>& x, int axis) {
    const std::int64_t step = contiguous_strides(x.shape)[axis];
    Array<T> y = x;
    for (std::int64_t i = 0; i < x.size(); ++i) {
        if (unravel(x.shape, i)[axis] > 0) y[i] += y[i - step];
    }
    return y;
}

/// y_i = x_0 x_1 ... x_i along `axis`, counted from 0.
template <class T>
Array<T> cumprod(const Array<T>& x, int axis) {
    const std::int64_t step = contiguous_strides(x.shape)[axis];
    Array<T> y = x;
    for (std::int64_t i = 0; i < x.size(); ++i) {
        if (unravel(x.shape, i)[axis] > 0) y[i] *= y[i - step];
    }
    return y;
}

}  // namespace tapestry::reference
