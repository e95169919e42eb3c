// Losses by their definitions.
#pragma once

#include <tapestry/ops/catalog/reference/elementwise.h>
#include <tapestry/ops/catalog/reference/norm.h>

namespace tapestry::reference {

enum class Reduction { mean, sum, none };

/// losses -> losses, their sum, or their sum / counted.
template <class T>
Array<T> reduced(const Array<T>& losses, Reduction reduction, std::int64_t counted) {
    if (reduction == Reduction::none) return losses;
    Array<T> y{Shape{}};
    y[0] = sum(losses.data);
    if (reduction == Reduction::mean) y[0] = y[0] / T(static_cast<double>(counted));
    return y;
}

/// -sum_j q_j log softmax(logits)_j with q_j = (1 - s) [j = target] + s / V.
template <class T>
Array<T> cross_entropy(const Array<T>& logits, const Array<T>& targets, std::int64_t ignored,
                       double smoothing, Reduction reduction) {
    const std::int64_t classes = logits.shape.back();
    const Array<T> log_p = log_softmax(logits, logits.shape.rank() - 1);
    Array<T> losses(targets.shape);
    std::int64_t counted = 0;
    for (std::int64_t r = 0; r < targets.size(); ++r) {
        const auto target = static_cast<std::int64_t>(targets[r]);
        if (target == ignored) continue;
        ++counted;
        for (std::int64_t j = 0; j < classes; ++j) {
            const double hit = j == target ? 1 - smoothing : 0;
            const double q = hit + smoothing / static_cast<double>(classes);
            losses[r] -= T(q) * log_p[r * classes + j];
        }
    }
    return reduced(losses, reduction, counted);
}

/// -sum_j w_j q_j log softmax(logits)_j with q_j (1 - s) + s / V for q_j; the mean is over all
/// rows.
template <class T>
Array<T> soft_cross_entropy(const Array<T>& logits, const Array<T>& q, const Array<T>& w,
                            double smoothing, Reduction reduction) {
    const std::int64_t classes = logits.shape.back();
    const Array<T> log_p = log_softmax(logits, logits.shape.rank() - 1);
    Array<T> losses(logits.shape.sub(0, logits.shape.rank() - 1));
    for (std::int64_t i = 0; i < logits.size(); ++i) {
        const T smoothed = q[i] * T(1 - smoothing) + T(smoothing / static_cast<double>(classes));
        losses[i / classes] -= w[i % classes] * smoothed * log_p[i];
    }
    return reduced(losses, reduction, losses.size());
}

/// The same of classes, with the mean divided by the sum of their weights.
template <class T>
Array<T> weighted_cross_entropy(const Array<T>& logits, const Array<T>& targets, const Array<T>& w,
                                std::int64_t ignored, double smoothing, Reduction reduction) {
    const std::int64_t classes = logits.shape.back();
    Array<T> q(logits.shape);
    T total(0);
    for (std::int64_t r = 0; r < targets.size(); ++r) {
        const auto target = static_cast<std::int64_t>(targets[r]);
        q[r * classes + target] = T(1);
        if (target != ignored) total += w[target];
    }
    Array<T> losses = soft_cross_entropy(logits, q, w, smoothing, Reduction::none);
    for (std::int64_t r = 0; r < targets.size(); ++r) {
        if (static_cast<std::int64_t>(targets[r]) == ignored) losses[r] = T(0);
    }
    if (reduction != Reduction::mean) return reduced(losses, reduction, 1);
    Array<T> y = reduced(losses, Reduction::sum, 1);
    y[0] = y[0] / total;
    return y;
}

/// By brute force: -log of the sum over all V^T paths of one class per step whose labels, merged
/// and without blanks, are the target's.
template <class T>
T ctc(const Array<T>& log_p, std::int64_t b, std::int64_t steps,
      const std::vector<std::int64_t>& labels, std::int64_t blank) {
    using std::exp, std::log;
    const std::int64_t length = log_p.shape[1], classes = log_p.shape[2];
    T total(0);
    std::int64_t paths = 1;
    for (std::int64_t t = 0; t < steps; ++t) paths *= classes;
    for (std::int64_t path = 0; path < paths; ++path) {
        std::vector<std::int64_t> said;
        T sum(0);
        std::int64_t rest = path, before = -1;
        for (std::int64_t t = 0; t < steps; ++t, rest /= classes) {
            const std::int64_t v = rest % classes;
            sum += log_p[(b * length + t) * classes + v];
            if (v != before && v != blank) said.push_back(v);
            before = v;
        }
        if (said == labels) total += exp(sum);
    }
    return -log(total);
}

/// -log_p at the target.
template <class T>
Array<T> nll(const Array<T>& log_p, const Array<T>& targets, std::int64_t ignored,
             Reduction reduction) {
    const std::int64_t classes = log_p.shape.back();
    Array<T> losses(targets.shape);
    std::int64_t counted = 0;
    for (std::int64_t r = 0; r < targets.size(); ++r) {
        const auto target = static_cast<std::int64_t>(targets[r]);
        if (target == ignored) continue;
        ++counted;
        losses[r] = -log_p[r * classes + target];
    }
    return reduced(losses, reduction, counted);
}

/// d^2 / 2 near 0, else the tangents at delta and -delta.
template <class T>
T huber(T x, T y, double delta) {
    using std::abs;
    const T d = abs(x - y);
    return d <= T(delta) ? d * d / T(2) : T(delta) * d - T(delta * delta / 2);
}

/// -y log p - (1 - y) log(1 - p)
template <class T>
T binary_cross_entropy(T p, T y, T pos_weight = T(1)) {
    using std::log;
    return -pos_weight * y * log(p) - (T(1) - y) * log(T(1) - p);
}

/// The same for p = sigmoid(x), with logarithms -softplus(-x) and -softplus(x), because 1 - p would
/// lose precision.
template <class T>
T binary_cross_entropy_with_logits(T x, T y, T pos_weight = T(1)) {
    return pos_weight * y * softplus(-x) + (T(1) - y) * softplus(x);
}

/// q log(q / p)
template <class T>
T kl_div(T log_p, T q) {
    using std::log;
    return q == T(0) ? T(0) : q * (log(q) - log_p);
}

}  // namespace tapestry::reference
