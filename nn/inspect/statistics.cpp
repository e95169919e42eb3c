#include <tapestry/core/copy.h>
#include <tapestry/nn/inspect/statistics.h>

#include <algorithm>
#include <cmath>
#include <map>

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

Log2Histogram log2_histogram(const Tensor& x) {
    std::map<int, std::int64_t> bins;
    each(x, [&bins](double value) {
        if (value != 0 && std::isfinite(value)) ++bins[std::ilogb(value)];
    });
    Log2Histogram histogram;
    if (bins.empty()) return histogram;
    histogram.first = bins.begin()->first;
    for (int e = histogram.first; e <= bins.rbegin()->first; ++e) {
        const auto found = bins.find(e);
        histogram.counts.push_back(found == bins.end() ? 0 : found->second);
    }
    return histogram;
}

}  // namespace tapestry
