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
    require(most >= 2 && most % 2 == 0, "TrainingCurve: points must be even, got {}", most);
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

double RunningMean::deviations(double x) const {
    if (static_cast<double>(count_) < kWindow || !(variance_ > 0)) return 0;
    return (x - mean_) / std::sqrt(variance_);
}

void RunningMean::add(double x) {
    if (!std::isfinite(x)) return;
    if (deviations(x) > kDeviations) x = mean_ + kDeviations * std::sqrt(variance_);
    const double weight = std::max(1 / static_cast<double>(count_ + 1), 1 / kWindow);
    const double difference = x - mean_;
    mean_ += weight * difference;
    variance_ = (1 - weight) * (variance_ + weight * difference * difference);
    ++count_;
}

void Spikes::add(const StepMetrics& metrics) {
    const auto look = [&](const char* what, double value, RunningMean& mean) {
        const double deviations = mean.deviations(value);
        if (deviations > RunningMean::kDeviations && std::isfinite(value)) {
            add({metrics.step, what, value, mean.mean(), deviations});
        }
        mean.add(value);
    };
    look("loss", metrics.loss, loss_);
    look("grad_norm", metrics.grad_norm, grad_norm_);
}

void Spikes::add(const Spike& spike) {
    all_.push_back(spike);
    if (all_.size() <= kMost) return;
    all_.erase(std::min_element(all_.begin(), all_.end(), [](const Spike& a, const Spike& b) {
        return a.deviations < b.deviations;
    }));
}

}  // namespace tapestry
