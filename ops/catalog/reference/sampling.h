// Sampling by weights, one draw at a time, from the same random numbers as the op.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/ops/catalog/reference/array.h>

#include <algorithm>

namespace tapestry::reference {

/// The category at which the running sum of weights exceeds u times the total.
inline std::int64_t category_at(const std::vector<double>& weights, double u) {
    double whole = 0;
    for (const double weight : weights) whole += weight;
    double passed = 0;
    for (std::size_t k = 0; k < weights.size(); ++k) {
        passed += weights[k];
        if (passed > u * whole) return static_cast<std::int64_t>(k);
    }
    return -1;
}

/// All categories in order of arrival; category k arrives at time -ln(1 - u_k) / w_k.
inline std::vector<std::int64_t> by_arrival(const std::vector<double>& weights, const double* u) {
    std::vector<std::pair<double, std::int64_t>> arrivals;
    for (std::size_t k = 0; k < weights.size(); ++k) {
        arrivals.emplace_back(-std::log1p(-u[k]) / weights[k], static_cast<std::int64_t>(k));
    }
    std::sort(arrivals.begin(), arrivals.end());
    std::vector<std::int64_t> order;
    for (const auto& arrival : arrivals) order.push_back(arrival.second);
    return order;
}

template <class T>
Array<T> multinomial(const Array<T>& x, std::int64_t n, bool replacement, std::uint64_t seed) {
    const std::int64_t categories = x.shape.back();
    const std::int64_t rows = x.size() / categories;
    Generator generator(seed);
    const bool race = !replacement && n > 1;
    const std::int64_t per_row = race ? categories : n;
    const std::vector<double> u = rand({rows, per_row}, generator, DType::f64).to_vector<double>();
    Shape shape = x.shape;
    shape.back() = n;
    Array<T> y(shape);
    for (std::int64_t r = 0; r < rows; ++r) {
        std::vector<double> weights;
        for (std::int64_t k = 0; k < categories; ++k) {
            weights.push_back(static_cast<double>(x[r * categories + k]));
        }
        const double* numbers = u.data() + r * per_row;
        const auto order = race ? by_arrival(weights, numbers) : std::vector<std::int64_t>();
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t drawn =
                race ? order[static_cast<std::size_t>(i)] : category_at(weights, numbers[i]);
            y[r * n + i] = T(static_cast<double>(drawn));
        }
    }
    return y;
}

}  // namespace tapestry::reference
