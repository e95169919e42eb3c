#include <tapestry/autograd/check/values.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tapestry::checker {

bool same_bits(const Values& a, const Values& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

bool is_finite(const Values& x) {
    return std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); });
}

double norm(const Values& a) {
    constexpr double kLeast = 1e-140,
                     kMost = 1e140;  // their squares neither overflow nor underflow
    const double plain = std::sqrt(dot(a, a));
    if (plain > kLeast && plain < kMost) return plain;
    double most = 0, squares = 0;
    for (const double x : a) {
        if (!(std::abs(x) <= std::numeric_limits<double>::max())) return plain;
        most = std::max(most, std::abs(x));
    }
    if (most == 0) return 0;
    for (const double x : a) squares += (x / most) * (x / most);
    return most * std::sqrt(squares);
}

double largest(const Values& x) {
    double size = 0;
    for (const double value : x) {
        if (std::isfinite(value)) size = std::max(size, std::abs(value));
    }
    return size;
}

double distance(const Values& a, const Values& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    const double size = std::max(norm(a), norm(b));
    return size > 0 ? std::sqrt(sum) / size : 0;
}

Values at_places(const Values& whole, const std::vector<std::size_t>& places) {
    Values chosen;
    for (const std::size_t place : places) chosen.push_back(whole[place]);
    return chosen;
}

Values permuted(const Values& x, const Shape& shape, const std::vector<int>& order) {
    Shape strides;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        strides.push_back(numel(shape.sub(axis + 1, shape.rank())));
    }
    Values y;
    y.reserve(x.size());
    std::vector<std::int64_t> index(order.size(), 0);
    for (std::size_t n = 0; n < x.size(); ++n) {
        std::int64_t from = 0;
        for (std::size_t i = 0; i < order.size(); ++i) from += index[i] * strides[order[i]];
        y.push_back(x[static_cast<std::size_t>(from)]);
        for (std::size_t i = order.size(); i-- > 0;) {
            if (++index[i] < shape[order[i]]) break;
            index[i] = 0;
        }
    }
    return y;
}

std::vector<int> broadcast_axes(const Shape& operand, const Shape& output) {
    std::vector<int> axes;
    const int shift = output.rank() - operand.rank();
    for (int axis = 0; axis < output.rank(); ++axis) {
        const bool repeated = axis < shift || operand[axis - shift] != output[axis];
        if (repeated && output[axis] > 1) axes.push_back(axis);
    }
    return axes;
}

bool broadcasts(const Shape& operand, const Shape& output) {
    if (operand.rank() > output.rank()) return false;
    const int shift = output.rank() - operand.rank();
    for (int axis = 0; axis < operand.rank(); ++axis) {
        const std::int64_t size = operand[axis];
        if (size != 1 && size != output[axis + shift]) return false;
    }
    return true;
}

}  // namespace tapestry::checker
