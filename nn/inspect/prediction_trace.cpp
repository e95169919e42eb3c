#include <tapestry/nn/inspect/prediction_trace.h>

#include <tapestry/core/parallel.h>
#include <tapestry/core/views.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace tapestry {
namespace {

constexpr std::size_t kLikeliest = 5;
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 26;

// Keeps the five largest of what it is shown; of equal ones the first.
void keep(std::vector<PredictedClass>& best, std::int64_t id, double logit) {
    if (best.size() == kLikeliest && !(logit > best.back().probability)) return;
    if (best.size() == kLikeliest) best.pop_back();
    const auto at = std::find_if(best.begin(), best.end(), [logit](const PredictedClass& each) {
        return logit > each.probability;
    });
    best.insert(at, {id, logit});
}

// Logits stand where probabilities will until their sum is known.
Prediction predict(std::span<const float> logits, std::int64_t right) {
    Prediction row{.right = right};
    for (std::size_t i = 0; i < logits.size(); ++i) {
        keep(row.likeliest, static_cast<std::int64_t>(i), logits[i]);
    }
    const double most = row.likeliest.front().probability;
    double sum = 0;
    for (const float x : logits) sum += std::exp(x - most);
    for (PredictedClass& each : row.likeliest) {
        each.probability = std::exp(each.probability - most) / sum;
    }
    if (right < 0) return row;
    const float own = logits[static_cast<std::size_t>(right)];
    row.loss = std::log(sum) + most - own;
    row.rank = 1 + std::count_if(logits.begin(), logits.end(), [own](float x) { return x > own; });
    return row;
}

// logits [..., T, V] or [N, V], targets of the same shape without V: the rows of the first
// sequence, or all.
std::vector<Prediction> predictions_of(const Tensor& logits,
                                       const std::vector<std::int64_t>& right) {
    const std::int64_t classes = logits.shape().back();
    const std::int64_t all = logits.numel() / classes, rows = std::ssize(right);
    const Tensor flat = views::slice(views::reshape(logits.detach(), {all, classes}), 0, 0, rows);
    const std::vector<float> numbers = flat.to_vector<float>();
    std::vector<Prediction> found(right.size());
    parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::span row(numbers.data() + i * classes, static_cast<std::size_t>(classes));
            const auto at = static_cast<std::size_t>(i);
            found[at] = predict(row, right[at]);
        }
    });
    return found;
}

}  // namespace

PredictionTrace trace_predictions(const Op& op, const Tensor& logits,
                                  const RecordedCrossEntropy& asked, const LogitLens& lens) {
    PredictionTrace trace{.module = lens.last_layer(),
                          .classes = logits.shape().back(),
                          .label_smoothing = asked.options.label_smoothing};
    if (logits.numel() == 0) return trace;
    std::vector<std::int64_t> right = asked.targets.to_vector<std::int64_t>();
    if (logits.rank() > 2) right.resize(static_cast<std::size_t>(logits.size(-2)));
    for (std::int64_t& each : right) {
        if (each == asked.options.ignore_index) each = -1;
    }
    trace.rows = predictions_of(logits, right);
    if (logits.numel() > kMostNumbers) return trace;
    lens.run(op.inputs()[0].slot, [&](const std::string& layer, const Tensor& of_layer) {
        trace.layers.push_back({layer, predictions_of(of_layer, right)});
    });
    return trace;
}

}  // namespace tapestry
