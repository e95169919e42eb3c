#include <tapestry/nn/train/table/regression_scores.h>

#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>

#include <fmt/core.h>

#include <cmath>

namespace tapestry {

// The mean and the spread by Welford's update, which loses no digits of large numbers. Source:
// Welford 1962, "Note on a Method for Calculating Corrected Sums of Squares and Products".
void RegressionScores::add(double predicted, double right) {
    const double error = predicted - right, of_baseline = baseline - right;
    squares += error * error;
    absolute += std::abs(error);
    baseline_squares += of_baseline * of_baseline;
    baseline_absolute += std::abs(of_baseline);
    ++rows;
    const double before = right - mean;
    mean += before / static_cast<double>(rows);
    spread += before * (right - mean);
}

double RegressionScores::rmse() const { return std::sqrt(squares / static_cast<double>(rows)); }
double RegressionScores::mae() const { return absolute / static_cast<double>(rows); }
double RegressionScores::r2() const { return spread > 0 ? 1 - squares / spread : std::nan(""); }

namespace {

RegressionScores of_baseline(RegressionScores scores) {
    scores.squares = scores.baseline_squares;
    scores.absolute = scores.baseline_absolute;
    return scores;
}

std::string share_text(double r2) {
    return std::isnan(r2) ? "R2 undefined, since all numbers are the same"
                          : fmt::format("R2 {:.4f}", r2);
}

}  // namespace

std::string to_text(const RegressionScores& scores, const std::string& of) {
    const RegressionScores mean = of_baseline(scores);
    return fmt::format(
        "{}, RMSE {:.5g}, MAE {:.5g} over {} of {}\nalways {:.5g}, the mean in training: {}, RMSE "
        "{:.5g}, MAE {:.5g}\n",
        share_text(scores.r2()), scores.rmse(), scores.mae(), pluralize(scores.rows, "row"),
        utf8::printable(of), scores.baseline, share_text(mean.r2()), mean.rmse(), mean.mae());
}

std::string to_json(const RegressionScores& scores) {
    const RegressionScores mean = of_baseline(scores);
    JsonWriter json;
    json.object([&] {
        json.member("rows", scores.rows);
        json.member("r2", scores.r2());
        json.member("rmse", scores.rmse());
        json.member("mae", scores.mae());
        json.member("baseline", scores.baseline);
        json.member("baseline_r2", mean.r2());
        json.member("baseline_rmse", mean.rmse());
        json.member("baseline_mae", mean.mae());
    });
    return json.text();
}

}  // namespace tapestry
