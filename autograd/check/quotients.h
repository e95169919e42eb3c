// Difference quotients of <weights, f> along a line: central, one-sided, and how much rounding may
// have moved them; and their extrapolation, three of them into one slope with an error.
// Internal to autograd/check. Read next: evidence.cpp, which draws the conclusions.
#pragma once

#include <tapestry/autograd/check/curve.h>
#include <tapestry/autograd/check/long_vectors.h>
#include <tapestry/autograd/check/verdict.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tapestry::checker {

// ---- a function of one number -------------------------------------------------------------------
// The checker's view of f: its outputs along a line x + t u, and what is known of f around x before
// any step is taken.

/// The outputs of a function at one point, and the branches taken there.
struct Sample {
    std::vector<double> values = {};
    std::uint64_t branch = 0;
};

/// How far t may go to each side, as distances.
struct Reach {
    double below = std::numeric_limits<double>::infinity();
    double above = std::numeric_limits<double>::infinity();
};

/// A function along a line x + t u. Every t is evaluated only once.
class Line {
public:
    using Function = std::function<Sample(double t)>;

    /// At t = `scale`, x has changed by about its own size. Steps beyond `reach` are not taken.
    Line(Function f, double scale, Reach reach = {})
        : f_(std::move(f)), scale_(scale), reach_(reach) {}

    const Sample& at(double t);
    double scale() const { return scale_; }
    /// Whether all numbers move by numbers of few digits at t = `scale`, as from 1 and 0.5: then
    /// the steps h, h/2 and h/4 may all be whole periods of a function (sin(2^9 pi x)).
    void set_even(bool even) { even_ = even; }
    bool is_even() const { return even_; }
    /// The reach of central steps, and of steps to one side (+1 or -1).
    double reach() const { return std::min(reach_.below, reach_.above); }
    double reach(double side) const { return side > 0 ? reach_.above : reach_.below; }
    /// From now on steps lead from the number `at` to other numbers of its format.
    void stay_in(Format format, double at) {
        format_ = format;
        at_ = at;
    }
    bool is_in_format() const { return format_ != Format::f64; }
    /// t, or the nearest step that leads to a number of the format of x.
    double nearest(double t) const {
        return format_ == Format::f64 ? t : rounded(format_, at_ + t) - at_;
    }

    /// The side on which steps must be taken if x is on a bound or next to one; otherwise 0.
    double only_side() const;

private:
    Function f_;
    double scale_;
    Reach reach_;
    Format format_ = Format::f64;
    double at_ = 0;
    bool even_ = false;
    std::map<double, Sample> known_;
};

struct Neighbourhood {
    Sample base = {};
    /// The outputs when the last bits of every input are changed at random.
    std::vector<std::vector<double>> shaken = {};
    /// The outputs when all inputs are other numbers of the same sizes: the usual size of the
    /// function. Where it has decayed (e^-x far out) it is small at x, but rounds as at its usual
    /// size.
    std::vector<std::vector<double>> elsewhere = {};
};

// ---- extrapolation ------------------------------------------------------------------------------
// Richardson's extrapolation of three difference quotients to one slope with an error, including
// the noise.

inline constexpr int kLevels = 3;  // steps h, h/2, h/4
using Slopes = std::array<double, kLevels>;

/// An estimate from steps no larger than `step`.
struct Attempt {
    double step = 0;
    Reason obstacle = Reason::none;
    bool settled = false;  ///< the differences shrink like those of a smooth function, or are noise
    bool moved = false;    ///< whether any output changes
    bool bends = false;    ///< whether one that is alike on both sides is another at x
    double rounding = 0;   ///< uncertainty of one evaluation
    Slopes slopes{};       ///< D(step), D(step / 2), D(step / 4)
    double value = 0;
    double noise = 0;  ///< part of the error
    double error = std::numeric_limits<double>::infinity();
    double hidden = 0;       ///< slope that outputs in a narrow format may have without showing it
    bool is_rough = false;   ///< a fit: f does not follow it, by more than its format rounds
    bool confirmed = false;  ///< one-sided: steps of another scale show the same slope
};

/// Computes value, noise, error and whether it settled, from attempt.slopes and the noise of each.
/// `order`: the factor by which the first term of the error shrinks when h is halved: 4 for central
/// differences, 2 for one-sided ones. (The second term shrinks by 16, and by 4.)
void extrapolate(const Slopes& noise, double order, Attempt& attempt);

double weighted(const std::vector<double>& w, const std::vector<double>& a);

/// sqrt(sum of (w y)^2), over finite w: the size of <w, y> if its terms had random signs, as
/// rounding errors have.
double size_of(const std::vector<double>& w, const std::vector<double>& y);
/// The same if every output had the average size of outputs.
double usual_size(const std::vector<double>& w, const std::vector<double>& y);

/// Whether all outputs with a nonzero weight are finite.
bool finite(const std::vector<double>& w, const Sample& sample);

// ---- quotients ----------------------------------------------------------------------------------

/// A number of up to this many times its uncertainty is nothing but rounding.
inline constexpr double kRounding = 32;
inline constexpr double kEps = std::numeric_limits<double>::epsilon();

/// What does not depend on the line: <w, f> at x, and by how much it moves when bits are shaken.
/// Each is found once it is needed.
struct WeightedHere {
    std::optional<std::vector<std::size_t>> few = {};  ///< outputs with a weight, if few have one
    std::optional<bool> is_finite = {};
    bool is_known = false;  ///< the following are
    double size = 0, shake = 0;
    std::vector<double> shakes = {};  ///< one for each time
};

class Quotients {
public:
    /// `weights` has one number per output of f. All arguments must outlive it. `here`: shared by
    /// those of the same weights and neighbourhood; null: not shared.
    Quotients(Line& line, const std::vector<double>& weights, const Neighbourhood& around,
              std::shared_ptr<WeightedHere> here = {})
        : line_(line),
          w_(weights),
          around_(around),
          here_(here ? std::move(here) : std::make_shared<WeightedHere>()),
          weighted_(few_of(*here_, weights)) {}

    const std::vector<double>& weights() const { return w_; }
    const Neighbourhood& around() const { return around_; }
    double scale() const { return line_.scale(); }

    /// <weights, f(t)>
    double value_at(double t) { return weighted(w_, line_.at(t).values); }
    bool is_finite_here() const {
        if (!here_->is_finite) here_->is_finite = finite(w_, around_.base);
        return *here_->is_finite;
    }
    bool takes_own_branches(double t) { return line_.at(t).branch == around_.base.branch; }

    /// The attempt from f(t) - f(-t) for t = h, h/2, h/4.
    Attempt central(double h);

    /// The slope to one side (+1 or -1), from steps that all take the same branches; the most
    /// accurate of several step sizes, nullopt if none settled.
    std::optional<Attempt> one_sided(double side);

    /// The uncertainty of an evaluation at x.
    double noise_here() const { return noise(around_.base, around_.base); }
    /// Sets a lower bound on the uncertainty of every evaluation.
    void set_least_noise(double noise) { least_noise_ = noise; }

    /// If x is on a bound or next to one: the side that is left, +1 or -1; otherwise 0.
    double only_side() const { return line_.only_side(); }

    /// Whether a step of central() took other branches than x.
    bool met_kink() const { return met_kink_; }

    /// Whether there is a kink that no op reported: a bend that is as sharp at a smaller distance.
    /// (A curve straightens.) `slope` and `scale` determine which bends matter.
    bool is_corner(double slope, double scale);
    /// Whether x is next to a corner, on one side, as steps very close to x show.
    bool is_beside_corner(double slope, double scale);

    /// The largest step, of at least about a hundredth of x, up to which f does not move at all; 0
    /// if it moves.
    double constant_step();

    /// Whether f moves between neighbouring numbers, by much less than `noise` and by much more
    /// than the slope `seen` from afar would, which is not close to the claim: then what looks like
    /// noise is a fast oscillation (a sine of 1e13), and averages to any slope. It is none if f
    /// moves by much less than the claim says: at a minimum, f - f(x) is tiny and not noise.
    bool is_fine_grained(double noise, double claimed, double seen);

    /// Whether f(x) itself is off the values at the attempt's steps, which are alike: f runs off
    /// at x, as next to a pole, and the slope between those values is another one. A bend
    /// shrinks by 16 from h to h/4, a kink by 4, a spike not at all.
    bool is_on_spike(const Attempt& attempt);

    /// Whether f is smooth at much smaller steps and has about the slope `claimed` there: from
    /// afar, ripples average to another, `seen`.
    bool has_ripples(double claimed, double seen);

    /// Whether f does not move at all next to x, and that is not its rounding, where the slope
    /// `seen` from afar would move it, and a slope of about 0 is claimed: x is between kinks. It is
    /// not rounding if f would have moved by a millionth of itself, or if it moves by much less
    /// elsewhere.
    bool stands_still(double claimed, double seen);

    /// Whether f has clearly other slopes than `seen` within steps much smaller than `step`, and
    /// they are not its rounding: there are kinks between, as where many numbers change their
    /// order. Not for a line that moves one number: on a kink, central steps see the mean of both
    /// sides, which is neither slope.
    bool is_bent_inside(double step, double claimed, double seen);

    /// Whether f, which does not move within `step`, would have moved there with the slope
    /// `claimed`, by a millionth of itself or more, and where it does move moves by much less: then
    /// it is flat up to a kink, and not rounded.
    bool is_flat_within(double step, double claimed);

    /// Whether f moves by a clear part of itself where x moves by its last bit and by two, and both
    /// along the slope `claimed`, not along `seen` from afar, which is another part of an
    /// oscillation. False for a claim within 2 % of `seen`.
    bool follows_neighbours(double claimed, double seen);

    /// Whether f follows the slope `claimed`, not `seen`, where steps are far smaller than those
    /// that were taken. Only next to an x of 0, whose own scale is not known: f may have one of
    /// 1e-30.
    bool follows_far_below(double claimed, double seen);

    /// Whether outputs that do not move within `step`, but within 64 times that, may have the slope
    /// that is missing: they may round more coarsely than their last bit, and move by jumps.
    bool hides_in_last_bits(double step, double claimed, double seen);

    /// |D(h) - slope| and the part of it that rounding explains, for steps from large to small.
    std::vector<CurvePoint> curve(double slope);

private:
    static const std::vector<std::size_t>& few_of(WeightedHere& here,
                                                  const std::vector<double>& weights) {
        if (!here.few) here.few = few_weighted(weights);
        return *here.few;
    }
    double bend(int power, double slope, double scale);
    bool goes_on_between(const Attempt& attempt);
    bool moves_finely(double t, double h, double missing);
    std::optional<Attempt> one_sided_step(double side, double h);
    double noise(const Sample& above, const Sample& below) const;
    double noise(const Sample& above, const Sample& below, const Difference& difference) const;
    double shake_of_changed(const Sample& above, const Sample& below,
                            const Difference& difference) const;
    double weighted_change(const std::vector<double>& a, const std::vector<double>& b) const;
    bool moves(const Sample& above, const Sample& below) const;

    Line& line_;
    const std::vector<double>& w_;
    const Neighbourhood& around_;
    double least_noise_ = 0;
    bool met_kink_ = false;

    std::shared_ptr<WeightedHere> here_;
    // The last shake_of_changed(): smaller steps along a line usually change the same outputs.
    mutable std::size_t changed_ = 0;
    mutable std::uint64_t which_changed_ = 0;
    mutable double shake_ = 0;
    // The outputs with a weight, if these are few.
    const std::vector<std::size_t>& weighted_;
};

}  // namespace tapestry::checker
