#include <tapestry/nn/terminal/text_axis.h>

#include <tapestry/core/error.h>

#include <algorithm>
#include <cmath>

namespace tapestry::terminal {
namespace {

// What is off by rounding alone is not off.
constexpr double kNear = 1e-9;
// Nearer to one another, the steps between numbers would lose their digits.
constexpr double kLeast = 1e-300;

Axis range_of(double low, double high) {
    require(std::isfinite(high - low), "text_plot: {} and {} are too far apart", low, high);
    const double least = std::max(kLeast, kNear * std::max(std::abs(low), std::abs(high)));
    if (high - low > least) return {low, high};
    const double room = std::abs(low) < kLeast ? 1 : 0.1 * std::abs(low);
    return {low - room, high + room};
}

// The smallest of 1, 2, 5 times a power of ten of which `most` cover the range.
double round_step(double range, int most) {
    const double least = range / most;
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double factor : {1., 2., 5.}) {
        if (factor * power >= least * (1 - kNear)) return factor * power;
    }
    return 10 * power;
}

// As many decimals as the step has, or as many digits, where numbers are very large or small.
std::string number_text(double value, double step, double largest) {
    const int digit = static_cast<int>(std::floor(std::log10(step) + kNear));
    if (step >= 1e-4 && largest < 1e6) return fmt::format("{:.{}f}", value, std::max(0, -digit));
    const int first = static_cast<int>(std::floor(std::log10(largest) + kNear));
    return fmt::format("{:.{}g}", value, std::clamp(first - digit + 1, 1, 15));
}

// Logarithms with 1, 2 and 5 times each power, or with every n-th power alone, n = `every`.
std::vector<Tick> log_ticks(double low, double high, int every) {
    const double stride = std::max(1, every);
    std::vector<Tick> ticks;
    for (double power = std::floor(low / stride) * stride;; power += stride) {
        for (const double factor : {1., 2., 5.}) {
            if (factor > 1 && every > 0) continue;
            const double at = power + std::log10(factor);
            if (at <= low + kNear) ticks.clear();
            ticks.push_back({at, fmt::format("{:.6g}", factor * std::pow(10, power))});
            if (at >= high - kNear) return ticks;
        }
    }
}

}  // namespace

std::size_t Axis::place(double at, std::size_t places) const {
    const double share = (at - low) / (high - low);
    return static_cast<std::size_t>(std::lround(share * static_cast<double>(places - 1)));
}

Axis linear_axis(double low, double high, int most) {
    Axis axis = range_of(low, high);
    double step = round_step(axis.high - axis.low, most), first = 0, last = 0;
    for (int wider = most;; --wider) {  // the outermost steps may be one too many
        first = std::floor(axis.low / step + kNear), last = std::ceil(axis.high / step - kNear);
        if (last - first <= most || wider < 2) break;
        step = round_step(axis.high - axis.low, wider - 1);
    }
    const double largest = step * std::max(std::abs(first), std::abs(last));
    for (double i = first; i <= last; ++i) {
        axis.ticks.push_back({i * step, number_text(i * step + 0., step, largest)});
    }
    return axis;
}

Axis log_axis(double low, double high, int most) {
    Axis axis = range_of(low, high);
    for (int every = 0;; ++every) {
        axis.ticks = log_ticks(axis.low, axis.high, every);
        if (static_cast<int>(axis.ticks.size()) <= most + 1) return axis;
    }
}

Axis up_to_ticks(Axis axis) {
    axis.low = axis.ticks.front().at;
    axis.high = axis.ticks.back().at;
    return axis;
}

}  // namespace tapestry::terminal
