// How good the probabilities of two classes are: whether they rank (ROC AUC) and whether they are
// right on average (calibration). `targets` are bool, or i64 0 and 1. Definitions are
// scikit-learn's.
#pragma once

#include <tapestry/core/tensor.h>

#include <cstdint>
#include <vector>

namespace tapestry {

/// The area under the ROC curve: the probability that a positive has a higher score than a
/// negative, where equal scores count half. Any scores of the shape of `targets`, probabilities or
/// logits. NaN without a positive or a negative. Throws ShapeError, DTypeError, and ValueError for
/// NaN and targets other than 0 and 1. Source: Hanley and McNeil 1982.
double roc_auc(const Tensor& scores, const Tensor& targets);

/// The predictions in one bin of a calibration curve.
struct CalibrationBin {
    double probability = 0;  ///< mean of those predicted
    double frequency = 0;    ///< fraction of targets that are 1
    std::int64_t count = 0;  ///< predictions in it, at least 1
};

/// Predictions in `bins` intervals of equal width from 0 to 1, without the empty ones; an
/// interval includes its upper end, and the first one 0. Throws as roc_auc() does, and ValueError
/// for a probability outside [0, 1] and fewer than one bin.
std::vector<CalibrationBin> calibration_curve(const Tensor& probabilities, const Tensor& targets,
                                              std::int64_t bins = 10);

/// The expected calibration error: the mean of |probability - frequency| over the bins, weighted
/// by their counts. For a classifier of many classes give it the probability of the predicted class
/// and whether that was right. NaN of no predictions.
/// Source: Guo et al. 2017, "On Calibration of Modern Neural Networks".
double calibration_error(const Tensor& probabilities, const Tensor& targets,
                         std::int64_t bins = 10);

}  // namespace tapestry
