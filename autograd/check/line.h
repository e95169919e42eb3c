// A function of one number, as the checker looks at it: the outputs of f along a line x + t u, and
// what is known of f around x before any step is taken. Internal to autograd/check.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace tapestry::checker {

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

}  // namespace tapestry::checker
