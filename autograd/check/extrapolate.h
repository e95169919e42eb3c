// Three difference quotients into one slope with an error: Richardson's extrapolation, the noise
// carried along. Internal to autograd/check. Read next: evidence.h, which decides what to make of
// it.
#pragma once

#include <tapestry/autograd/check/line.h>
#include <tapestry/autograd/check/verdict.h>

#include <array>
#include <limits>

namespace tapestry::checker {

inline constexpr int kLevels = 3;  // steps h, h/2, h/4
using Slopes = std::array<double, kLevels>;

/// An estimate from steps no larger than `step`.
struct Attempt {
    double step = 0;
    Reason obstacle = Reason::none;
    bool settled = false;  ///< the differences shrink as those of a smooth function, or are noise
    bool moved = false;    ///< does any output change?
    double rounding = 0;   ///< how uncertain one evaluation is
    Slopes slopes{};       ///< D(step), D(step / 2), D(step / 4)
    double value = 0;
    double noise = 0;  ///< part of the error
    double error = std::numeric_limits<double>::infinity();
    double hidden = 0;  ///< slopes that outputs of a narrow format may have without showing them
};

/// Value, noise, error and whether it settled, from attempt.slopes and the noise of each. `order`:
/// by which factor the first term of the error shrinks when h is halved: 4 for central differences,
/// 2 for one-sided ones. (The second shrinks by 16, and by 4.)
void extrapolate(const Slopes& noise, double order, Attempt& attempt);

/// <w, a - b>, over the outputs that `counts` names (all if it is empty).
double weighted_difference(const std::vector<double>& w, const std::vector<double>& a,
                           const std::vector<double>& b, const std::vector<bool>& counts = {});
double weighted(const std::vector<double>& w, const std::vector<double>& a);

/// sqrt(sum of (w y)^2): the size of <w, y> had its terms random signs, as rounding errors have.
double size_of(const std::vector<double>& w, const std::vector<double>& y);
/// The same had every output the size that outputs have on average.
double usual_size(const std::vector<double>& w, const std::vector<double>& y);

/// Are the outputs with a weight numbers?
bool finite(const std::vector<double>& w, const Sample& sample);

}  // namespace tapestry::checker
