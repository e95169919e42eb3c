#include <tapestry/nn/metrics/regression.h>

#include <tapestry/ops/check.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace tapestry {
namespace {

using Numbers = std::vector<double>;

std::pair<Numbers, Numbers> numbers(const char* metric, const Tensor& x, const Tensor& y) {
    check_floating(metric, x);
    check_floating(metric, y);
    require<ShapeError>(x.shape() == y.shape(), "{}: shapes differ: {} and {}", metric, x.shape(),
                        y.shape());
    return {x.to_vector<double>(), y.to_vector<double>()};
}

// The mean of f(x, y).
template <class F>
double mean_of(const std::pair<Numbers, Numbers>& pairs, F f) {
    double sum = 0;
    for (std::size_t i = 0; i < pairs.first.size(); ++i) sum += f(pairs.first[i], pairs.second[i]);
    return sum / static_cast<double>(pairs.first.size());
}

double squared(double x, double y) { return (x - y) * (x - y); }

}  // namespace

double mean_absolute_error(const Tensor& x, const Tensor& y) {
    return mean_of(numbers("mean_absolute_error", x, y),
                   [](double a, double b) { return std::abs(a - b); });
}

double root_mean_squared_error(const Tensor& x, const Tensor& y) {
    return std::sqrt(mean_of(numbers("root_mean_squared_error", x, y), squared));
}

double r2_score(const Tensor& x, const Tensor& y) {
    const auto pairs = numbers("r2_score", x, y);
    const double mean = mean_of(pairs, [](double, double b) { return b; });
    const double rest = mean_of(pairs, squared);
    const double all = mean_of(pairs, [mean](double, double b) { return squared(mean, b); });
    const Numbers& right = pairs.second;
    const bool is_constant =
        std::all_of(right.begin(), right.end(), [&](double one) { return one == right.front(); });
    if (is_constant && !right.empty()) return std::isnan(rest) ? rest : rest == 0 ? 1 : 0;
    return 1 - rest / all;
}

double mean_quantile_error(const Tensor& x, const Tensor& y, double q) {
    require(q > 0 && q < 1, "mean_quantile_error: q must be between 0 and 1, got {}", q);
    return mean_of(numbers("mean_quantile_error", x, y),
                   [q](double a, double b) { return b >= a ? q * (b - a) : (q - 1) * (b - a); });
}

}  // namespace tapestry
