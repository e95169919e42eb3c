// Difference quotients of <weights, f> along a line: from both sides, from one, and how much
// rounding may have moved them; and three of them into one slope with an error.
// Internal to autograd/check. Read next: evidence.cpp, which decides what to make of it.
#pragma once

#include <tapestry/autograd/check/curve.h>
#include <tapestry/autograd/check/verdict.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tapestry::checker {

// ---- a function of one number -------------------------------------------------------------------
// As the checker looks at it: the outputs of f along a line x + t u, and what is known of f around
// x before any step is taken.

/// The outputs of a function at one point, and which branches it took there.
struct Sample {
    std::vector<double> values = {};
    std::uint64_t branch = 0;
};

/// How far t may go to both sides, as distances.
struct Reach {
    double below = std::numeric_limits<double>::infinity();
    double above = std::numeric_limits<double>::infinity();
};

/// A function along a line x + t u. Every t is computed once.
class Line {
public:
    using Function = std::function<Sample(double t)>;

    /// At t = `scale`, x has changed by about its own size. Steps beyond `reach` are not taken.
    Line(Function f, double scale, Reach reach = {})
        : f_(std::move(f)), scale_(scale), reach_(reach) {}

    const Sample& at(double t);
    double scale() const { return scale_; }
    /// That of central steps, and that to one side (+1 or -1).
    double reach() const { return std::min(reach_.below, reach_.above); }
    double reach(double side) const { return side > 0 ? reach_.above : reach_.below; }
    /// t, or next to it the step that leads to a number of the format that x lives in.
    double nearest(double t) const { return nearest_ ? nearest_(t) : t; }
    void set_nearest(std::function<double(double)> nearest) { nearest_ = std::move(nearest); }

    /// The side that steps must be taken to where x is on a bound, or next to one; else 0.
    double only_side() const;

private:
    Function f_;
    double scale_;
    Reach reach_;
    std::function<double(double)> nearest_ = {};
    std::map<double, Sample> known_;
};

struct Neighbourhood {
    Sample base = {};
    /// The outputs where every input is changed in its last bits, at random.
    std::vector<std::vector<double>> shaken = {};
    /// The outputs where all inputs are other numbers of the same sizes: what the function is worth
    /// elsewhere. Where it has died away (e^-x far out), it is small here, but rounds as it does
    /// there.
    std::vector<std::vector<double>> elsewhere = {};
};

// ---- extrapolation ------------------------------------------------------------------------------
// Three difference quotients into one slope with an error: Richardson's extrapolation, the noise
// carried along.

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

// ---- quotients ----------------------------------------------------------------------------------

/// Up to so many times its uncertainty a number is nothing but rounding.
inline constexpr double kRounding = 32;
inline constexpr double kEps = std::numeric_limits<double>::epsilon();

class Quotients {
public:
    /// `weights` has one number per output of f. All arguments must outlive it.
    Quotients(Line& line, const std::vector<double>& weights, const Neighbourhood& around)
        : line_(line), w_(weights), around_(around) {}

    const std::vector<double>& weights() const { return w_; }
    const Neighbourhood& around() const { return around_; }
    double scale() const { return line_.scale(); }

    /// <weights, f(t)>
    double value_at(double t) { return weighted(w_, line_.at(t).values); }
    bool is_finite_here() const { return finite(w_, around_.base); }
    bool takes_own_branches(double t) { return line_.at(t).branch == around_.base.branch; }

    /// From f(t) - f(-t) for t = h, h/2, h/4.
    Attempt central(double h);

    /// The slope to one side (+1 or -1), from steps that all take the same branches; the sharpest
    /// of several sizes, nothing if none settled.
    std::optional<Attempt> one_sided(double side);

    /// How uncertain an evaluation at x is.
    double noise_here() const { return noise(around_.base, around_.base); }
    /// Every evaluation is at least this uncertain.
    void set_least_noise(double noise) { least_noise_ = noise; }

    /// Where x is on a bound, or next to one: the side that is left, +1 or -1; else 0.
    double only_side() const { return line_.only_side(); }

    /// Has a step of central() taken other branches than x?
    bool met_kink() const { return met_kink_; }

    /// Is there a kink that no op told of: a bend that is as sharp seen from closer by? (A curve
    /// straightens.) `slope` and `scale` say which bends matter.
    bool is_corner(double slope, double scale);
    /// Of a corner: is x next to it, on one side, as can be seen from very close?
    bool is_beside_corner(double slope, double scale);

    /// Does f not move at all, from the smallest steps to some hundredth of x?
    bool is_constant_here();
    /// Nor where all inputs are numbers of about the same sizes?
    bool is_constant_elsewhere() const;

    /// |D(h) - slope| and what rounding explains of it, for steps from large to small.
    std::vector<CurvePoint> curve(double slope);

private:
    double bend(int power, double slope, double scale);
    std::optional<Attempt> one_sided_step(double side, double h);
    double noise(const Sample& above, const Sample& below) const;
    bool moves(const Sample& above, const Sample& below) const;

    Line& line_;
    const std::vector<double>& w_;
    const Neighbourhood& around_;
    double least_noise_ = 0;
    bool met_kink_ = false;
};

}  // namespace tapestry::checker
