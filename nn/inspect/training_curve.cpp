#include <tapestry/nn/inspect/training_curve.h>

#include <tapestry/core/error.h>

#include <algorithm>
#include <cmath>

namespace tapestry {
namespace {

void merge(TrainingPoint& into, const TrainingPoint& next) {
    const auto count = static_cast<double>(into.count + next.count);
    into.mean += (next.mean - into.mean) * (static_cast<double>(next.count) / count);
    into.last = next.last;
    into.count += next.count;
    into.low = std::min(into.low, next.low);
    into.high = std::max(into.high, next.high);
}

}  // namespace

TrainingCurve::TrainingCurve(std::size_t most) : most_(most) {
    require(most >= 2 && most % 2 == 0, "TrainingCurve: {} points; an even number is needed", most);
}

void TrainingCurve::add(std::int64_t step, double value) {
    if (!std::isfinite(value)) return;
    const TrainingPoint point{
        .first = step, .last = step, .count = 1, .mean = value, .low = value, .high = value};
    if (!points_.empty() && points_.back().count < width_) return merge(points_.back(), point);
    if (points_.size() == most_) halve();
    points_.push_back(point);
}

void TrainingCurve::halve() {
    for (std::size_t i = 0; i < most_ / 2; ++i) {
        points_[i] = points_[2 * i];
        merge(points_[i], points_[2 * i + 1]);
    }
    points_.resize(most_ / 2);
    width_ *= 2;
}

}  // namespace tapestry
