// Order by definition: sorts every line of an array as a list of values with their indices.
#pragma once

#include <tapestry/ops/catalog/reference/reduction.h>

#include <cmath>

namespace tapestry::reference {

template <class T>
using Line = std::vector<T>;

/// Applies f to every line of x along `axis`; the results have k elements. f is generic and maps a
/// Line to a Line.
template <class T, class F>
Array<T> map_lines(const Array<T>& x, int axis, std::int64_t k, F f) {
    const Groups<T> lines = groups_of(x, {axis}, true);
    std::vector<Line<T>> results;
    for (const Line<T>& line : lines.values) results.push_back(f(line));
    Shape shape = x.shape;
    shape[axis] = k;
    Array<T> y(shape);
    for (std::int64_t i = 0; i < y.size(); ++i) {
        const Shape index = unravel(shape, i);
        const std::int64_t line = ravel_broadcast(lines.shape, index);
        y[i] = results[static_cast<std::size_t>(line)][static_cast<std::size_t>(index[axis])];
    }
    return y;
}

/// The indices that sort a line; of equal elements the lower index comes first.
template <class T>
Line<T> argsort(const Line<T>& line, bool descending) {
    Line<T> places;
    for (std::size_t i = 0; i < line.size(); ++i) places.push_back(T(static_cast<double>(i)));
    const auto at = [&](const T& place) -> const T& {
        return line[static_cast<std::size_t>(static_cast<double>(place))];
    };
    std::stable_sort(places.begin(), places.end(), [&](const T& a, const T& b) {
        return descending ? at(b) < at(a) : at(a) < at(b);
    });
    return places;
}

/// The elements of a line at these indices.
template <class T>
Line<T> taken(const Line<T>& line, const Line<T>& places) {
    Line<T> values;
    for (const T& place : places) {
        values.push_back(line[static_cast<std::size_t>(static_cast<double>(place))]);
    }
    return values;
}

/// Sorted elements first, ..., first + k - 1 of each line, and their indices.
template <class T>
Arrays<T> ordered(const Array<T>& x, int axis, std::int64_t first, std::int64_t k,
                  bool descending) {
    const auto places = [=](const Line<T>& line) {
        const Line<T> all = argsort(line, descending);
        return Line<T>(all.begin() + first, all.begin() + first + k);
    };
    const auto values = [=](const Line<T>& line) { return taken(line, places(line)); };
    return {map_lines(x, axis, k, values), map_lines(x, axis, k, places)};
}

/// With z = sorted x: z at q (n - 1), interpolated linearly.
template <class T>
T quantile(const Line<T>& line, double q) {
    const Line<T> z = taken(line, argsort(line, false));
    const double place = q * static_cast<double>(z.size() - 1);
    const auto below = static_cast<std::size_t>(std::floor(place));
    const auto above = static_cast<std::size_t>(std::ceil(place));
    const T w(place - std::floor(place));
    return (T(1) - w) * z[below] + w * z[above];
}

/// The whole array as one line.
template <class T>
Array<T> flat(const Array<T>& x) {
    Array<T> y({x.size()});
    y.data = x.data;
    return y;
}

/// The distinct values, sorted; the index of each element of x among them; their counts.
template <class T>
Arrays<T> unique(const Array<T>& x) {
    Line<T> values = taken(x.data, argsort(x.data, false));
    values.erase(std::unique(values.begin(), values.end()), values.end());
    const Shape found{static_cast<std::int64_t>(values.size())};
    Arrays<T> results{Array<T>(found), Array<T>(x.shape), Array<T>(found)};
    results[0].data = values;
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const auto place = std::find(values.begin(), values.end(), x[i]) - values.begin();
        results[1][i] = T(static_cast<double>(place));
        results[2][place] += T(1);
    }
    return results;
}

/// y[v] = how many elements of x are v, for v < n.
template <class T>
Array<T> bincount(const Array<T>& x, std::int64_t n) {
    for (const T& value : x.data) n = std::max(n, static_cast<std::int64_t>(value) + 1);
    Array<T> y({n});
    for (const T& value : x.data) y[static_cast<std::int64_t>(value)] += T(1);
    return y;
}

}  // namespace tapestry::reference
