#include <tapestry/nn/metrics/classification.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/reduction.h>

#include <limits>
#include <numeric>

namespace tapestry {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::int64_t total(const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

double quotient(std::int64_t part, std::int64_t all) {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

std::vector<std::int64_t> classes_in(std::string_view what, const Tensor& x) {
    require<DTypeError>(x.dtype() == DType::i64 || x.dtype() == DType::boolean,
                        "metrics: {} must be i64 or bool, got {}", what, x.dtype());
    return x.to_vector<std::int64_t>();
}

// Predicted and right classes, one of each per prediction.
struct PairCounts {
    std::vector<std::int64_t> found, targets;

    PairCounts(const Tensor& predictions, const Tensor& right) {
        check_defined("metrics", predictions);
        check_defined("metrics", right);
        targets = classes_in("targets", right);
        Shape wanted = right.shape();
        const bool are_scores = is_floating(predictions.dtype());
        if (are_scores && predictions.rank() > 0) wanted.push_back(predictions.shape().back());
        require<ShapeError>(predictions.shape() == wanted && (!are_scores || wanted.rank() > 0),
                            "metrics: predictions {} do not fit targets {}{}", predictions.shape(),
                            right.shape(), are_scores ? " and one more axis, the classes" : "");
        found = classes_in("predictions", are_scores ? argmax(predictions) : predictions);
    }
};

}  // namespace

ClassCounts::ClassCounts(std::size_t classes)
    : right(classes, 0), occurring(classes, 0), predicted(classes, 0) {}

void ClassCounts::add(std::size_t target, std::size_t found, std::int64_t times) {
    for (const std::size_t c : {target, found}) {
        require<IndexError>(c < classes(), "metrics: class {} is not from 0 to {}",
                            static_cast<std::int64_t>(c), static_cast<std::int64_t>(classes()) - 1);
    }
    confusion[{target, found}] += times;
    occurring[target] += times;
    predicted[found] += times;
    if (target == found) right[target] += times;
}

void ClassCounts::add(const Tensor& predictions, const Tensor& targets) {
    const PairCounts pairs(predictions, targets);
    for (const auto* all : {&pairs.found, &pairs.targets}) {  // before anything is counted
        for (const std::int64_t c : *all) {
            require<IndexError>(c >= 0 && static_cast<std::size_t>(c) < classes(),
                                "metrics: class {} is not from 0 to {}", c,
                                static_cast<std::int64_t>(classes()) - 1);
        }
    }
    for (std::size_t i = 0; i < pairs.targets.size(); ++i) {
        add(static_cast<std::size_t>(pairs.targets[i]), static_cast<std::size_t>(pairs.found[i]));
    }
}

std::int64_t ClassCounts::count() const { return total(occurring); }

double ClassCounts::accuracy() const {
    return count() == 0 ? kNone : quotient(total(right), count());
}

double ClassCounts::precision(std::size_t c) const { return quotient(right[c], predicted[c]); }
double ClassCounts::recall(std::size_t c) const { return quotient(right[c], occurring[c]); }
double ClassCounts::f1(std::size_t c) const {
    return 2 * quotient(right[c], occurring[c] + predicted[c]);
}

double ClassCounts::averaged(double (ClassCounts::*score)(std::size_t) const,
                             Average average) const {
    if (count() == 0) return kNone;
    if (average == Average::micro) return accuracy();
    double sum = 0, weights = 0;
    for (std::size_t c = 0; c < classes(); ++c) {
        const bool seen = occurring[c] + predicted[c] > 0;
        const double weight =
            average == Average::macro ? (seen ? 1.0 : 0.0) : static_cast<double>(occurring[c]);
        sum += weight * (this->*score)(c);
        weights += weight;
    }
    return sum / weights;
}

double ClassCounts::precision(Average average) const {
    return averaged(&ClassCounts::precision, average);
}
double ClassCounts::recall(Average average) const {
    return averaged(&ClassCounts::recall, average);
}
double ClassCounts::f1(Average average) const { return averaged(&ClassCounts::f1, average); }

Tensor ClassCounts::matrix() const {
    const auto n = static_cast<std::int64_t>(classes());
    Tensor counts = zeros({n, n}, DType::i64);
    std::int64_t* const to = counts.mutable_data<std::int64_t>();
    for (const auto& [pair, times] : confusion) {
        to[static_cast<std::int64_t>(pair.first) * n + static_cast<std::int64_t>(pair.second)] =
            times;
    }
    return counts;
}

double accuracy(const Tensor& predictions, const Tensor& targets) {
    const PairCounts pairs(predictions, targets);
    std::int64_t right = 0;
    for (std::size_t i = 0; i < pairs.targets.size(); ++i) {
        right += pairs.found[i] == pairs.targets[i];
    }
    const auto all = static_cast<std::int64_t>(pairs.targets.size());
    return all == 0 ? kNone : quotient(right, all);
}

}  // namespace tapestry
