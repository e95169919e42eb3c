// Softmax by definition. No maximum is subtracted: samples are small enough, and this is the
// formula a reader knows.
#pragma once

#include <tapestry/ops/catalog/reference/reduction.h>

namespace tapestry::reference {

/// exp(x_i) / sum_j exp(x_j) along `axis`, counted from 0.
template <class T>
Array<T> softmax(const Array<T>& x, int axis) {
    using std::exp;
    const Groups<T> groups = groups_of(x, {axis}, true);
    Array<T> y(x.shape);
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const auto group = static_cast<std::size_t>(groups.group_of[static_cast<std::size_t>(i)]);
        T total(0);
        for (const T& value : groups.values[group]) total += exp(value);
        y[i] = exp(x[i]) / total;
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
