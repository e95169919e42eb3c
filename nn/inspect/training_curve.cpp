#include <tapestry/nn/inspect/training_curve.h>

#include <tapestry/core/error.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry {
namespace {

void merge(TrainingPoint& into, const TrainingPoint& next) {
    // Chan, Golub and LeVeque 1983: means and squares of two parts.
    const double share =
        static_cast<double>(next.count) / static_cast<double>(into.count + next.count);
    const double difference = next.mean - into.mean;
    into.mean += difference * share;
    into.square +=
        (next.square - into.square) * share + difference * difference * share * (1 - share);
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
    if (!std::isfinite(value)) {
        if (not_finite_.size() < kMostNotFinite) not_finite_.push_back({step, value});
        return;
    }
    latest_ = {step, value};
    if (lowest_.step == 0 || value < lowest_.value) lowest_ = latest_;
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

bool RunningMean::is_spike(double x) const {
    if (!std::isfinite(x)) return false;
    return is_early() ? count_ > 0 && mean_ > 0 && x > kEarlyFactor * mean_
                      : deviations(x) > kDeviations;
}

void RunningMean::add(double x) {
    if (!std::isfinite(x)) return;
    if (is_spike(x)) {
        x = is_early() ? kEarlyFactor * mean_ : mean_ + kDeviations * std::sqrt(variance_);
    }
    const double weight = std::max(1 / static_cast<double>(count_ + 1), 1 / kWindow);
    const double difference = x - mean_;
    mean_ += weight * difference;
    variance_ = (1 - weight) * (variance_ + weight * difference * difference);
    ++count_;
}

void Spikes::add(const StepMetrics& metrics) {
    const auto look = [&](const char* what, double value, RunningMean& mean) {
        if (mean.is_spike(value)) {
            const bool first = mean.is_early() && !std::exchange(has_early_, true);
            const double usual = mean.is_early() ? value / mean.mean() : mean.deviations(value);
            const double by = first ? INFINITY : usual;
            add({metrics.step, what, value, mean.mean(), by});
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
