// How well any number of labels per text is predicted: F1 over all labels or of each, how often the
// likeliest label is right, and calibration. Read next: scores.h, the same for one label per text;
// classify_task.h, which predicts.
#pragma once

#include <tapestry/nn/pages/report.h>
#include <tapestry/nn/train/classify/calibration.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tapestry {

/// Counts of predictions by label; a label is predicted where its probability is at least the
/// threshold. A score whose divisor is 0 is 0, as in scikit-learn.
struct LabelSetScores {
    std::vector<std::string> labels;      ///< names, by id
    double threshold = 0.5;               ///< of a prediction
    std::vector<std::int64_t> right;      ///< how often a label was predicted rightly
    std::vector<std::int64_t> occurring;  ///< how many texts have it
    std::vector<std::int64_t> predicted;  ///< how often it was predicted
    std::int64_t texts = 0;               ///< that were added
    std::int64_t exact = 0;               ///< texts whose predicted labels are all of theirs
    std::int64_t first = 0;               ///< texts that have the label that is likeliest for them
    double loss = 0;                      ///< mean binary cross-entropy per label, in nats
    Calibration calibration;              ///< of all labels of all texts

    /// No predictions yet.
    explicit LabelSetScores(std::vector<std::string> names = {}, double threshold = 0.5,
                            double temperature = 1);

    /// Counts these texts, whose logits are not divided by the temperature yet.
    void add(const LabelledLogits& some);

    double f1(std::size_t label) const;  ///< 2 TP / (2 TP + FP + FN)
    double micro_f1() const;             ///< the same of all labels together
    double macro_f1() const;             ///< mean of f1() over labels that occur or are predicted
    double precision_at_1() const;       ///< share of the texts that have their likeliest label
    double exact_share() const;          ///< share of the texts with exactly the right labels
};

/// Some lines: "micro F1 0.8810, macro F1 0.7702, precision@1 0.9120, ...", the calibration, and
/// F1 of at most 20 labels.
std::string to_text(const LabelSetScores& scores, const std::string& of);

/// One JSON object.
std::string to_json(const LabelSetScores& scores);

/// For a report: the mean binary cross-entropies on the held-out part of guessing, and of counting
/// the labels of the part to learn from. Each text is the ids of its labels.
std::vector<ExpectedLoss> losses_without_looking(
    std::size_t labels, const std::vector<std::vector<std::int64_t>>& train,
    const std::vector<std::vector<std::int64_t>>& held_out);

}  // namespace tapestry
