// Layer norm and RMS norm by definition, over the last axis.
#pragma once

#include <tapestry/ops/catalog/reference/reduction.h>

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

/// y[r, i] = normalised(x[r])[i] weight[i] + bias[i]; an empty array stands for none.
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

}  // namespace tapestry::reference
