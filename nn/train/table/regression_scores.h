// How well numbers are predicted, and how well their mean does. Read next: table_task.h, which
// predicts them.
#pragma once

#include <cstdint>
#include <string>

namespace tapestry {

/// Sums over predictions.
struct RegressionScores {
    std::int64_t rows = 0;         ///< counted
    double baseline = 0;           ///< the prediction to compare with: the training part's mean
    double squares = 0;            ///< sum of squared errors
    double absolute = 0;           ///< sum of absolute errors
    double baseline_squares = 0;   ///< of the baseline
    double baseline_absolute = 0;  ///< of the baseline
    double mean = 0;               ///< of the right numbers
    double spread = 0;             ///< sum of squares of the right numbers' distances from `mean`

    /// Counts a row.
    void add(double predicted, double right);

    double rmse() const;  ///< root of the mean squared error
    double mae() const;   ///< mean absolute error
    /// Share of the variance of the right numbers that is explained, 1 - squares / spread; NaN if
    /// all are the same.
    double r2() const;
};

/// Two lines: "R2 0.4821, RMSE 53.45, MAE 43.12 over 89 rows of diabetes.csv", and the same of the
/// mean.
std::string to_text(const RegressionScores& scores, const std::string& of);

/// One JSON object.
std::string to_json(const RegressionScores& scores);

}  // namespace tapestry
