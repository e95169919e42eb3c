// How well labels are predicted, of texts or of images: accuracy, F1, and which label was taken for
// which; the likeliest labels; the losses of guessing. Read next: classify_task.h, which predicts
// those of texts.
#pragma once

#include <tapestry/nn/metrics/classification.h>
#include <tapestry/nn/pages/report.h>
#include <tapestry/nn/train/classify/calibration.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

/// Counts of predictions by label id (nn/metrics/classification.h), with names and the loss.
struct ClassificationScores : ClassCounts {
    std::vector<std::string> labels;  ///< names, by id
    std::string what = "text";        ///< what has the labels: a text, an image
    double loss = 0;                  ///< mean cross-entropy in nats
    /// The label that was most frequent in training, to compare with; empty: there is none.
    std::string baseline = {};
    /// Of the probabilities of a model with a temperature.
    std::optional<Calibration> calibration = {};

    /// No predictions yet.
    explicit ClassificationScores(std::vector<std::string> names = {});

    using ClassCounts::add;
    /// Counts a text for each of `targets`, with probabilities of all labels in rows; `loss` is the
    /// mean over all that were added so.
    void add(const std::vector<std::int64_t>& targets, std::span<const double> probabilities);
    /// f1(Average::macro).
    double macro_f1() const { return f1(Average::macro); }
    /// The same counts if `baseline` had been predicted for all.
    ClassificationScores of_baseline() const;
};

/// Some lines: "accuracy 0.9750, macro F1 0.9684, loss 0.0812 over 200 texts of mail.txt", the
/// baseline's if there is one, and the confusion of at most 20 labels.
std::string to_text(const ClassificationScores& scores, const std::string& of);

/// One JSON object; "confusion" lists [label, predicted, texts] by ids.
std::string to_json(const ClassificationScores& scores);

/// For a report: the losses on the held-out part of guessing, and of counting the labels of the
/// part to learn from. Both by id; `what` is "text", "image" or "row".
std::vector<ExpectedLoss> losses_without_looking(const std::vector<std::int64_t>& train,
                                                 const std::vector<std::int64_t>& held_out,
                                                 std::string_view what);

}  // namespace tapestry
