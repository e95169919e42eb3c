// How well labels are predicted: accuracy, F1, and which label was taken for which. Read next:
// classify_task.h, which predicts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tapestry {

/// Counts of predictions, by their right label.
struct ClassificationScores {
    std::vector<std::string> labels;  ///< names, by id
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

}  // namespace tapestry
