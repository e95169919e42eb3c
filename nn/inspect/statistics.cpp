#include <tapestry/nn/inspect/statistics.h>

#include <tapestry/core/copy.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace tapestry {
namespace {

// f(element as double) for every element; the order does not matter.
template <class F>
void each(const Tensor& x, const F& f) {
    if (!x.defined()) return;
    const Tensor in = dense(x);
    visit_dtype(in.dtype(), [&](auto zero) {
        const auto* values = in.data<decltype(zero)>();
        for (std::int64_t i = 0; i < in.numel(); ++i) f(static_cast<double>(values[i]));
    });
}

}  // namespace

double ValueStatistics::rms() const { return std::hypot(mean, deviation); }

ValueStatistics statistics_of(const Tensor& x) {
    ValueStatistics s;
    double sum = 0;
    std::int64_t finite = 0;
    each(x, [&](double value) {
        ++s.count;
        if (!std::isfinite(value)) {
            ++(std::isnan(value) ? s.nans : s.infinities);
            s.negative_infinities += value < 0;
            return;
        }
        s.zeros += value == 0;
        s.min = finite == 0 ? value : std::min(s.min, value);
        s.max = finite == 0 ? value : std::max(s.max, value);
        sum += value;
        ++finite;
    });
    if (finite == 0) return s;
    s.mean = sum / static_cast<double>(finite);
    double squares = 0;  // about the mean: a second walk, for E[x^2] - E[x]^2 would cancel
    each(x, [&](double value) {
        if (std::isfinite(value)) squares += (value - s.mean) * (value - s.mean);
    });
    s.deviation = std::sqrt(squares / static_cast<double>(finite));
    return s;
}

// A training report looks at every parameter in the time of a step, so the power of two is read
// from the bits: the exponent of a double stands above its 52 bits of mantissa.
Log2Histogram log2_histogram(const Tensor& x) {
    constexpr int kLowest = -1074, kHighest = 1023;
    std::vector<std::int64_t> bins(kHighest - kLowest + 1);
    each(x, [&bins](double value) {
        const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 0x7FFU);
        if (exponent == 0x7FF || value == 0) return;
        const int power = exponent > 0 ? exponent - 1023 : std::ilogb(value);  // subnormals
        ++bins[static_cast<std::size_t>(power - kLowest)];
    });
    const auto filled = [](std::int64_t count) { return count > 0; };
    const auto first = std::find_if(bins.begin(), bins.end(), filled);
    const auto end = std::find_if(bins.rbegin(), bins.rend(), filled).base();
    if (first == bins.end()) return {};
    return {.first = kLowest + static_cast<int>(first - bins.begin()), .counts = {first, end}};
}

}  // namespace tapestry
