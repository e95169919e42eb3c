#include <tapestry/nn/metrics/interval.h>

#include <tapestry/core/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

namespace tapestry {
namespace {

constexpr double kNormal = 1.959963984540054;  // 95% of a standard normal is within +- this

std::vector<double> paired(const std::vector<double>& a, const std::vector<double>& b,
                           const std::function<double(double, double)>& f) {
    require<ValueError>(a.size() == b.size(), "{} values against {}: no pairs", a.size(), b.size());
    std::vector<double> result;
    for (std::size_t i = 0; i < a.size(); ++i) result.push_back(f(a[i], b[i]));
    return result;
}

}  // namespace

// Tabulated where the series in 1 / freedom (Abramowitz and Stegun 26.7.5) is off by more than
// 0.001.
double student_quantile(std::size_t freedom) {
    constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};
    require<ValueError>(freedom > 0,
                        "a quantile of Student's distribution needs 1 degree of freedom");
    if (freedom <= std::size(kTable)) return kTable[freedom - 1];
    const double z = kNormal, v = static_cast<double>(freedom);
    return z + (std::pow(z, 3) + z) / (4 * v) +
           (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / (96 * v * v) +
           (3 * std::pow(z, 7) + 19 * std::pow(z, 5) + 17 * std::pow(z, 3) - 15 * z) /
               (384 * v * v * v);
}

Interval student_interval(const std::vector<double>& values) {
    require<ValueError>(!values.empty(), "an interval of no values");
    const auto n = static_cast<double>(values.size());
    const auto count = static_cast<std::int64_t>(values.size());
    double mean = 0, squares = 0;
    for (const double value : values) mean += value / n;
    if (count == 1) {
        constexpr double kInfinite = std::numeric_limits<double>::infinity();
        return {mean, -kInfinite, kInfinite, 1};
    }
    if (std::count(values.begin(), values.end(), values.front()) == count) {  // without rounding
        return {values.front(), values.front(), values.front(), count};
    }
    for (const double value : values) squares += (value - mean) * (value - mean);
    const double half =
        student_quantile(values.size() - 1) * std::sqrt(squares / (n - 1)) / std::sqrt(n);
    return {mean, mean - half, mean + half, count};
}

Interval share_interval(std::int64_t hits, std::int64_t cases) {
    require<ValueError>(0 <= hits && hits <= cases && cases > 0, "a share of {} in {} cases", hits,
                        cases);
    const auto n = static_cast<double>(cases);
    const double p = static_cast<double>(hits) / n, z2 = kNormal * kNormal;
    const double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
    const double half = kNormal * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
    return {p, std::max(0.0, middle - half), std::min(1.0, middle + half), cases, true};
}

std::vector<double> differences(const std::vector<double>& a, const std::vector<double>& b) {
    return paired(a, b, std::minus<>{});
}

std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b) {
    return paired(a, b, std::divides<>{});
}

std::string to_text(const Interval& i) {
    if (i.is_share) return fmt::format("{:.4f} ({:.4f} to {:.4f})", i.mean, i.low, i.high);
    const double half = i.half_width();
    if (!(half > 0) || !std::isfinite(half)) return fmt::format("{:.4g} +- {:.2g}", i.mean, half);
    const int digits = std::clamp(2 - static_cast<int>(std::floor(std::log10(half))), 0, 15);
    return fmt::format("{:.{}f} +- {:.{}f}", i.mean, digits, half, digits);
}

}  // namespace tapestry
