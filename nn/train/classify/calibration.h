// Calibration of a classifier: of the texts to which it gives a probability of 0.8, does it get 80%
// right? A network that is trained to the end is too sure of itself; one number that its logits are
// divided by, fitted on texts that it has not learned from, mends most of it and changes no order
// of labels. Read next: classify_task.h, which fits it after each evaluation.
//
// Source: Guo et al. 2017, "On Calibration of Modern Neural Networks".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tapestry {

/// Logits of texts and their labels, by row: `logits` has a number for each label.
struct LabelledLogits {
    std::size_t labels = 0;             ///< C
    std::vector<double> logits = {};    ///< [texts, C]
    std::vector<std::uint8_t> is = {};  ///< [texts, C]: 1 for the labels that a text has
    bool several = false;               ///< sigmoid of each logit; otherwise softmax of each row

    /// Number of texts.
    std::size_t texts() const { return labels == 0 ? 0 : logits.size() / labels; }
    /// The logits of text i.
    std::span<const double> row(std::size_t i) const {
        return std::span<const double>(logits).subspan(i * labels, labels);
    }
    /// Its labels.
    std::span<const std::uint8_t> labels_of(std::size_t i) const {
        return std::span<const std::uint8_t>(is).subspan(i * labels, labels);
    }
};

/// The T that minimises the mean loss of `logits / T`, within [1/32, 32]; 1 if all logits are 0.
/// The loss is convex in 1/T. One more text is added of which nothing is known (all labels alike),
/// so a few texts that are all right do not make T 0, as in Platt 1999, "Probabilistic Outputs for
/// Support Vector Machines".
double fit_temperature(const LabelledLogits& all);

/// Of texts with several labels: the least probability, with this temperature, from which a label
/// should be predicted for the largest F1 over all labels of all texts; halfway between the two
/// probabilities that it separates, in [0.01, 0.99]. 0.5 if no text has a label. Of probabilities
/// that are calibrated it is half of that F1. Source: Lipton, Elkan and Narayanaswamy 2014, "Optimal
/// Thresholding of Classifiers to Maximize F1 Measure".
double fit_threshold(const LabelledLogits& all, double temperature);

/// Probabilities of a row of logits divided by a temperature.
std::vector<double> probabilities_of(std::span<const double> logits, double temperature,
                                     bool several);

/// The expected calibration error (nn/metrics/ranking.h, 15 bins) of texts with a temperature and
/// without: of the likeliest label of each text, or, if a text may have several, of every label of
/// every text.
class Calibration {
public:
    /// Of no text yet.
    explicit Calibration(double temperature = 1) : temperature_(temperature) {}

    /// Counts these texts.
    void add(const LabelledLogits& some);

    double temperature() const { return temperature_; }  ///< that logits are divided by
    double error() const { return of(calibrated_); }     ///< with it
    double error_without() const { return of(plain_); }  ///< with 1 instead

private:
    double of(const std::vector<double>& probabilities) const;

    double temperature_;
    std::vector<double> calibrated_, plain_;
    std::vector<std::int64_t> right_;
};

/// "expected calibration error 0.0121 (0.0340 without its temperature, 1.312)"; the temperature 1
/// is not mentioned.
std::string to_text(const Calibration& calibration);

}  // namespace tapestry
