// How well labels are predicted: accuracy, F1, and which label was taken for which. Read next:
// classify_task.h, which predicts them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tapestry {

/// Counts of predictions, by their right label.
struct ClassificationScores {
    std::vector<std::string> labels;  ///< names, by id
    /// confusion[r][p]: texts with label r for which p was predicted
    std::vector<std::vector<std::int64_t>> confusion;
    double loss = 0;  ///< mean cross-entropy in nats

    /// No predictions yet.
    explicit ClassificationScores(std::vector<std::string> names = {});

    std::int64_t count() const;  ///< texts
    double accuracy() const;     ///< share of the texts whose label was predicted; NaN of none
    /// Of a label: 2 TP / (2 TP + FP + FN); 0 if it neither occurs nor is predicted.
    double f1(std::size_t label) const;
    /// Mean of the labels' F1, of those that occur or were predicted, each counting the same.
    double macro_f1() const;
};

/// Some lines: "accuracy 0.9750, macro F1 0.9684, loss 0.0812 over 200 texts of mail.txt", and the
/// confusion of at most 20 labels.
std::string to_text(const ClassificationScores& scores, const std::string& of);

/// One JSON object.
std::string to_json(const ClassificationScores& scores);

}  // namespace tapestry
