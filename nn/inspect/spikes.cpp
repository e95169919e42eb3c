#include <tapestry/nn/inspect/spikes.h>

#include <algorithm>
#include <cmath>

namespace tapestry {

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
