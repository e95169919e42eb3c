#include <tapestry/nn/train/classify/calibration.h>

#include <tapestry/core/create.h>
#include <tapestry/nn/metrics/ranking.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace tapestry {
namespace {

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

// The first and second derivative of the summed loss by beta = 1/T.
//
//     softmax:  sum_i [E_p z - z_y],             sum_i Var_p z,           p = softmax(beta z_i)
//     sigmoid:  sum_ic z_ic (s_ic - y_ic),       sum_ic z_ic^2 s (1 - s), s = sigmoid(beta z_ic)
struct Slope {
    double first = 0, second = 0;
};

void add_softmax(std::span<const double> logits, std::span<const std::uint8_t> is, double beta,
                 double text, Slope& slope) {
    const double largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0, mean = 0, square = 0, right = 0, plain = 0;
    for (std::size_t c = 0; c < logits.size(); ++c) {
        const double z = logits[c] - largest, e = std::exp(beta * z);
        sum += e;
        mean += e * z;
        square += e * z * z;
        plain += z;
        if (is[c] != 0) right = z;
    }
    mean /= sum;
    const double target = text * right + (1 - text) * plain / static_cast<double>(logits.size());
    slope.first += mean - target;
    slope.second += square / sum - mean * mean;
}

void add_sigmoid(std::span<const double> logits, std::span<const std::uint8_t> is, double beta,
                 double text, Slope& slope) {
    for (std::size_t c = 0; c < logits.size(); ++c) {
        const double z = logits[c], s = sigmoid_of(beta * z);
        slope.first += z * (s - (text * is[c] + (1 - text) * 0.5));
        slope.second += z * z * s * (1 - s);
    }
}

// The text of which nothing is known is spread over all: n / (n + 1) of each target is its label's.
Slope slope_at(const LabelledLogits& all, double beta) {
    const double n = static_cast<double>(all.texts()), text = n / (n + 1);
    Slope slope;
    for (std::size_t i = 0; i < all.texts(); ++i) {
        (all.several ? add_sigmoid : add_softmax)(all.row(i), all.labels_of(i), beta, text, slope);
    }
    return slope;
}

}  // namespace

// Newton's steps on the first derivative, which grows with beta; a step that leaves the interval in
// which its sign changes is replaced by a bisection.
double fit_temperature(const LabelledLogits& all) {
    constexpr double kMost = 32;
    constexpr int kSteps = 60;
    double low = 1 / kMost, high = kMost, beta = 1;
    for (int i = 0; i < kSteps && high - low > 1e-9 * high; ++i) {
        const Slope slope = slope_at(all, beta);
        if (slope.first == 0 || !std::isfinite(slope.first)) break;
        (slope.first > 0 ? high : low) = beta;
        const double newton = beta - slope.first / slope.second;
        const bool is_inside = std::isfinite(newton) && newton > low && newton < high;
        const double next = is_inside ? newton : std::sqrt(low * high);
        if (std::abs(std::exchange(beta, next) - next) < 1e-9 * next) break;
    }
    return 1 / beta;
}

std::vector<double> probabilities_of(std::span<const double> logits, double temperature,
                                     bool several) {
    std::vector<double> all(logits.size());
    if (several) {
        std::transform(logits.begin(), logits.end(), all.begin(),
                       [&](double z) { return sigmoid_of(z / temperature); });
        return all;
    }
    const double largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (std::size_t c = 0; c < logits.size(); ++c) {
        all[c] = std::exp((logits[c] - largest) / temperature);
        sum += all[c];
    }
    for (double& p : all) p /= sum;
    return all;
}

double fit_threshold(const LabelledLogits& all, double temperature) {
    constexpr double kLeast = 0.01;  // most probabilities are smaller, and need no place in line
    std::vector<std::pair<double, std::uint8_t>> line;
    std::int64_t labels = 0;
    for (std::size_t i = 0; i < all.texts(); ++i) {
        const std::vector<double> p = probabilities_of(all.row(i), temperature, true);
        for (std::size_t c = 0; c < p.size(); ++c) {
            const std::uint8_t is = all.labels_of(i)[c];
            labels += is;
            if (p[c] >= kLeast) line.emplace_back(p[c], is);
        }
    }
    std::sort(line.begin(), line.end(), std::greater<>());
    double best = 0, threshold = 0.5;
    std::int64_t right = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        right += line[i].second;
        const double next = i + 1 < line.size() ? line[i + 1].first : kLeast;
        if (next == line[i].first) continue;  // both or neither are predicted
        const std::int64_t predicted = static_cast<std::int64_t>(i) + 1;
        const double f1 = 2 * static_cast<double>(right) / static_cast<double>(labels + predicted);
        if (f1 > best) {
            best = f1;
            threshold = (line[i].first + next) / 2;
        }
    }
    return std::clamp(threshold, kLeast, 1 - kLeast);
}

void Calibration::add(const LabelledLogits& some) {
    for (std::size_t i = 0; i < some.texts(); ++i) {
        const std::span<const double> row = some.row(i);
        const auto calibrated = probabilities_of(row, temperature_, some.several);
        const auto plain = probabilities_of(row, 1, some.several);
        const auto best =
            static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
        for (std::size_t c = 0; c < some.labels; ++c) {
            if (!some.several && c != best) continue;
            calibrated_.push_back(std::min(calibrated[c], 1.0));  // a sum may round above 1
            plain_.push_back(std::min(plain[c], 1.0));
            right_.push_back(some.labels_of(i)[c]);
        }
    }
}

double Calibration::of(const std::vector<double>& probabilities) const {
    constexpr std::int64_t kBins = 15;  // Guo et al.
    const auto n = std::ssize(right_);
    return calibration_error(tensor(probabilities, {n}), tensor(right_, {n}), kBins);
}

std::string to_text(const Calibration& calibration) {
    const std::string text = fmt::format("expected calibration error {:.4f}", calibration.error());
    if (calibration.temperature() == 1) return text;
    return text + fmt::format(" ({:.4f} without its temperature, {:.3f})",
                              calibration.error_without(), calibration.temperature());
}

}  // namespace tapestry
