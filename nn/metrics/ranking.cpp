#include <tapestry/nn/metrics/ranking.h>

#include <tapestry/ops/check.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tapestry {
namespace {

// Score and target of each prediction.
std::vector<std::pair<double, bool>> scored(const char* metric, const Tensor& scores,
                                            const Tensor& targets) {
    check_floating(metric, scores);
    check_defined(metric, targets);
    require<DTypeError>(targets.dtype() == DType::i64 || targets.dtype() == DType::boolean,
                        "{}: targets must be i64 or bool, got {}", metric, targets.dtype());
    require<ShapeError>(scores.shape() == targets.shape(), "{}: scores are {}, but targets {}",
                        metric, scores.shape(), targets.shape());
    const auto values = scores.to_vector<double>();
    const auto classes = targets.to_vector<std::int64_t>();
    std::vector<std::pair<double, bool>> all;
    for (std::size_t i = 0; i < values.size(); ++i) {
        require(!std::isnan(values[i]), "{}: score {} is NaN", metric, i);
        require(classes[i] == 0 || classes[i] == 1, "{}: target {} must be 0 or 1, got {}", metric,
                i, classes[i]);
        all.emplace_back(values[i], classes[i] == 1);
    }
    return all;
}

}  // namespace

double roc_auc(const Tensor& scores, const Tensor& targets) {
    auto all = scored("roc_auc", scores, targets);
    std::sort(all.begin(), all.end());
    // Over runs of equal scores: the negatives below each positive, and half of those equal to it.
    double below = 0, area = 0, positives = 0;
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
        double equal = 0, found = 0;
        for (; end < all.size() && all[end].first == all[begin].first; ++end) {
            (all[end].second ? found : equal) += 1;
        }
        area += found * (below + equal / 2);
        below += equal;
        positives += found;
    }
    return below * positives == 0 ? std::numeric_limits<double>::quiet_NaN()
                                  : area / (below * positives);
}

namespace {

// The interval (i / bins, (i + 1) / bins] with p; the first one includes 0.
std::size_t bin_of(double p, std::int64_t bins) {
    const auto n = static_cast<double>(bins);
    auto at = std::clamp<std::int64_t>(static_cast<std::int64_t>(p * n), 0, bins - 1);
    while (at > 0 && p <= static_cast<double>(at) / n) --at;
    while (at + 1 < bins && p > static_cast<double>(at + 1) / n) ++at;
    return static_cast<std::size_t>(at);
}

}  // namespace

std::vector<CalibrationBin> calibration_curve(const Tensor& probabilities, const Tensor& targets,
                                              std::int64_t bins) {
    require(bins >= 1 && bins <= 1'000'000, "calibration_curve: needs 1 to 1000000 bins, got {}",
            bins);
    const auto all = scored("calibration_curve", probabilities, targets);
    std::vector<CalibrationBin> found(static_cast<std::size_t>(bins));
    for (const auto& [p, is_one] : all) {
        require(p >= 0 && p <= 1, "calibration_curve: {} is not a probability", p);
        CalibrationBin& bin = found[bin_of(p, bins)];
        bin.probability += p;
        bin.frequency += is_one ? 1 : 0;
        ++bin.count;
    }
    std::erase_if(found, [](const CalibrationBin& bin) { return bin.count == 0; });
    for (CalibrationBin& bin : found) {
        bin.probability /= static_cast<double>(bin.count);
        bin.frequency /= static_cast<double>(bin.count);
    }
    return found;
}

double calibration_error(const Tensor& probabilities, const Tensor& targets, std::int64_t bins) {
    double sum = 0, count = 0;
    for (const CalibrationBin& bin : calibration_curve(probabilities, targets, bins)) {
        const auto weight = static_cast<double>(bin.count);
        sum += weight * std::abs(bin.probability - bin.frequency);
        count += weight;
    }
    return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / count;
}

}  // namespace tapestry
