#include <tapestry/core/error.h>
#include <tapestry/nn/inspect/curve.h>

#include <algorithm>
#include <cmath>

namespace tapestry {
namespace {

void merge(CurvePoint& into, const CurvePoint& next) {
    const auto count = static_cast<double>(into.count + next.count);
    into.mean += (next.mean - into.mean) * (static_cast<double>(next.count) / count);
    into.last = next.last;
    into.count += next.count;
    into.low = std::min(into.low, next.low);
    into.high = std::max(into.high, next.high);
}

}  // namespace

Curve::Curve(std::size_t most) : most_(most) {
    require(most >= 2 && most % 2 == 0, "Curve: {} points; an even number is needed", most);
}

void Curve::add(std::int64_t step, double value) {
    if (!std::isfinite(value)) return;
    const CurvePoint point{
        .first = step, .last = step, .count = 1, .mean = value, .low = value, .high = value};
    if (!points_.empty() && points_.back().count < width_) return merge(points_.back(), point);
    if (points_.size() == most_) halve();
    points_.push_back(point);
}

void Curve::halve() {
    for (std::size_t i = 0; i < most_ / 2; ++i) {
        points_[i] = points_[2 * i];
        merge(points_[i], points_[2 * i + 1]);
    }
    points_.resize(most_ / 2);
    width_ *= 2;
}

}  // namespace tapestry
