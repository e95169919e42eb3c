#include <tapestry/autograd/check/extrapolate.h>

#include <tapestry/autograd/check/values.h>

#include <algorithm>
#include <cmath>

namespace tapestry::checker {

void extrapolate(const Slopes& noise, double order, Attempt& attempt) {
    const Slopes& d = attempt.slopes;
    const double first = d[0] - d[1], second = d[1] - d[2];
    const auto better = [](double coarse, double fine, double factor) {
        return (factor * fine - coarse) / (factor - 1);
    };
    const auto noisier = [](double coarse, double fine, double factor) {
        return (factor * fine + coarse) / (factor - 1);
    };
    const double once_coarse = better(d[0], d[1], order);
    const double once = better(d[1], d[2], order);
    const double twice = better(once_coarse, once, order == 4 ? 16 : 4);
    const double noise_coarse = noisier(noise[0], noise[1], order);
    const double noise_once = noisier(noise[1], noise[2], order);
    const double noise_twice = noisier(noise_coarse, noise_once, order == 4 ? 16 : 4);
    const auto take = [&attempt](double value, double moved, double by_noise) {
        if (!(moved + by_noise < attempt.error)) return;
        attempt.value = value;
        attempt.noise = by_noise;
        attempt.error = moved + by_noise;
    };
    take(d[2], std::abs(second), noise[2]);
    take(d[0], std::abs(first) + std::abs(second), noise[0]);
    take(once, std::abs(once - once_coarse), noise_once);
    take(twice, std::max(std::abs(twice - once), std::abs(twice - once_coarse)), noise_twice);
    const double expected = order == 4 ? 0.5 : 0.75;  // 1/4 and 1/2 for small h
    attempt.settled =
        std::abs(second) <= expected * std::abs(first) + noise[0] + noise[1] + noise[2];
}

double weighted_difference(const std::vector<double>& w, const std::vector<double>& a,
                           const std::vector<double>& b, const std::vector<bool>& counts) {
    double sum = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
        if (w[i] != 0 && (counts.empty() || counts[i])) sum += w[i] * (a[i] - b[i]);
    }
    return sum;
}

double weighted(const std::vector<double>& w, const std::vector<double>& a) {
    double sum = 0;
    for (std::size_t i = 0; i < w.size(); ++i) sum += w[i] * a[i];
    return sum;
}

double size_of(const std::vector<double>& w, const std::vector<double>& y) {
    std::vector<double> terms(w.size());
    for (std::size_t i = 0; i < w.size(); ++i) terms[i] = w[i] * y[i];
    return norm(terms);
}

double usual_size(const std::vector<double>& w, const std::vector<double>& y) {
    return norm(y) / std::sqrt(static_cast<double>(w.size())) * norm(w);
}

bool finite(const std::vector<double>& w, const Sample& sample) {
    for (std::size_t i = 0; i < w.size(); ++i) {
        if (w[i] != 0 && !std::isfinite(sample.values[i])) return false;
    }
    return true;
}

}  // namespace tapestry::checker
