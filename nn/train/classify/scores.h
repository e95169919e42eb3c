// How well labels are predicted, of texts or of images: accuracy, F1, and which label was taken for
// which; the likeliest labels; the losses of guessing. Read next: classify_task.h, which predicts
// those of texts.
#pragma once

#include <tapestry/nn/pages/report.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {

/// A label and its probability.
struct LabelProbability {
    std::string label;       ///< its name
    double probability = 0;  ///< in [0, 1]
};

/// The `most` likeliest of these labels, the likeliest first; of equal ones the first by id.
std::vector<LabelProbability> likeliest(const std::vector<std::string>& labels,
                                        std::span<const double> probabilities, std::int64_t most);

/// Counts of predictions, by their right label.
struct ClassificationScores {
    std::vector<std::string> labels;  ///< names, by id
    std::string what = "text";        ///< what has the labels: a text, an image
    /// confusion[{r, p}]: texts with label r for which p was predicted, where there are any.
    std::map<std::pair<std::size_t, std::size_t>, std::int64_t> confusion;
    std::vector<std::int64_t> right;      ///< texts of a label for which it was predicted, by id
    std::vector<std::int64_t> occurring;  ///< texts of a label, by id
    std::vector<std::int64_t> predicted;  ///< texts for which a label was predicted, by id
    double loss = 0;                      ///< mean cross-entropy in nats

    /// No predictions yet.
    explicit ClassificationScores(std::vector<std::string> names = {});

    /// Counts texts with this label, for which `found` was predicted.
    void add(std::size_t label, std::size_t found, std::int64_t texts = 1);
    /// Counts a text for each of `targets`, with probabilities of all labels in rows; `loss` is the
    /// mean over all that were added so.
    void add(const std::vector<std::int64_t>& targets, std::span<const double> probabilities);

    std::int64_t count() const;  ///< texts
    double accuracy() const;     ///< share of the texts whose label was predicted; NaN of none
    /// A label's 2 TP / (2 TP + FP + FN); 0 if it neither occurs nor is predicted.
    double f1(std::size_t label) const;
    /// Mean of the labels' F1, of those that occur or were predicted, each counting the same.
    double macro_f1() const;
};

/// Some lines: "accuracy 0.9750, macro F1 0.9684, loss 0.0812 over 200 texts of mail.txt", and the
/// confusion of at most 20 labels.
std::string to_text(const ClassificationScores& scores, const std::string& of);

/// One JSON object; "confusion" lists [label, predicted, texts] by ids.
std::string to_json(const ClassificationScores& scores);

/// For a report: the losses on the held-out part of guessing, and of counting the labels of the
/// part to learn from. Both by id; `what` is "text" or "image".
std::vector<ExpectedLoss> losses_without_looking(const std::vector<std::int64_t>& train,
                                                 const std::vector<std::int64_t>& held_out,
                                                 std::string_view what);

}  // namespace tapestry
