#include <tapestry/nn/inspect/statistics.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/parallel.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tapestry {
namespace {

// Processed by threads in pieces of this size: a page reads every tensor of a step twice.
constexpr std::int64_t kPieceElements = 1 << 14;
// Independent sums for neighbours: an addition need not wait for the previous one.
constexpr std::size_t kLanes = 4;

std::size_t pieces_of(std::int64_t n) {
    return static_cast<std::size_t>((n + kPieceElements - 1) / kPieceElements);
}

// The sum of f over all elements, each as a double: in lanes, then lane by lane, then piece by
// piece, regardless of the number of threads.
template <class T, class F>
double sum_of(const T* values, std::int64_t n, const F& f) {
    std::vector<double> sums(pieces_of(n));
    parallel_for(n, kPieceElements, [&](std::int64_t begin, std::int64_t end) {
        std::array<double, kLanes> lanes{};
        std::int64_t i = begin;
        for (; i + static_cast<std::int64_t>(kLanes) <= end; i += kLanes) {
            for (std::size_t k = 0; k < kLanes; ++k) {
                lanes[k] += f(static_cast<double>(values[static_cast<std::size_t>(i) + k]));
            }
        }
        for (; i < end; ++i) lanes[0] += f(static_cast<double>(values[i]));
        double& sum = sums[static_cast<std::size_t>(begin / kPieceElements)];
        for (const double lane : lanes) sum += lane;
    });
    double sum = 0;
    for (const double piece : sums) sum += piece;
    return sum;
}

double finite_or_zero(double value) { return std::isfinite(value) ? value : 0; }

// The counts and extremes of one piece.
template <class T>
ValueStatistics counts_of(const T* values, std::int64_t n) {
    ValueStatistics s{.count = n};
    s.min = std::numeric_limits<double>::infinity();
    s.max = -s.min;
    for (std::int64_t i = 0; i < n; ++i) {
        const auto value = static_cast<double>(values[i]);
        if (!std::isfinite(value)) {
            ++(std::isnan(value) ? s.nans : s.infinities);
            s.negative_infinities += value < 0;
            continue;
        }
        s.zeros += value == 0;
        s.min = std::min(s.min, value);
        s.max = std::max(s.max, value);
    }
    return s;
}

template <class T>
ValueStatistics statistics_of(const T* values, std::int64_t n) {
    std::vector<ValueStatistics> pieces(pieces_of(n));
    parallel_for(n, kPieceElements, [&](std::int64_t begin, std::int64_t end) {
        pieces[static_cast<std::size_t>(begin / kPieceElements)] =
            counts_of(values + begin, end - begin);
    });
    ValueStatistics s;
    s.min = std::numeric_limits<double>::infinity();
    s.max = -s.min;
    for (const ValueStatistics& piece : pieces) {
        s.count += piece.count;
        s.zeros += piece.zeros;
        s.nans += piece.nans;
        s.infinities += piece.infinities;
        s.negative_infinities += piece.negative_infinities;
        s.min = std::min(s.min, piece.min);
        s.max = std::max(s.max, piece.max);
    }
    const std::int64_t finite = s.count - s.nans - s.infinities;
    if (finite == 0) {
        s.min = s.max = 0;
        return s;
    }
    s.mean = sum_of(values, n, finite_or_zero) / static_cast<double>(finite);
    // In a second pass around the mean, because E[x^2] - E[x]^2 would cancel.
    const double squares = sum_of(values, n, [mean = s.mean](double value) {
        return std::isfinite(value) ? (value - mean) * (value - mean) : 0;
    });
    s.deviation = std::sqrt(squares / static_cast<double>(finite));
    return s;
}

}  // namespace

double ValueStatistics::rms() const { return std::hypot(mean, deviation); }

ValueStatistics statistics_of(const Tensor& x) {
    if (!x.defined()) return {};
    const Tensor in = dense(x);
    return visit_dtype(in.dtype(), [&](auto zero) {
        return statistics_of(in.data<decltype(zero)>(), in.numel());
    });
}

// A training report reads every parameter within the time of a step, so the power of two is taken
// from the bits: a double's exponent is above its 52 bits of mantissa.
Log2Histogram log2_histogram(const Tensor& x) {
    constexpr int kLowest = -1074, kHighest = 1023;
    std::vector<std::int64_t> bins(kHighest - kLowest + 1);
    if (!x.defined()) return {};
    const Tensor in = dense(x);
    visit_dtype(in.dtype(), [&](auto zero) {
        const auto* values = in.data<decltype(zero)>();
        for (std::int64_t i = 0; i < in.numel(); ++i) {
            const auto value = static_cast<double>(values[i]);
            const auto exponent =
                static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 0x7FFU);
            if (exponent == 0x7FF || value == 0) continue;
            const int power = exponent > 0 ? exponent - 1023 : std::ilogb(value);  // subnormals
            ++bins[static_cast<std::size_t>(power - kLowest)];
        }
    });
    const auto filled = [](std::int64_t count) { return count > 0; };
    const auto first = std::find_if(bins.begin(), bins.end(), filled);
    const auto end = std::find_if(bins.rbegin(), bins.rend(), filled).base();
    if (first == bins.end()) return {};
    return {.first = kLowest + static_cast<int>(first - bins.begin()), .counts = {first, end}};
}

}  // namespace tapestry
