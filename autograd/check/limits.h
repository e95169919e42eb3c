// Limits on calls of a function under test: the range of its leaves' numbers (Box), and the number
// of evaluations (Budget). Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/quotients.h>
#include <tapestry/autograd/check/verdict.h>
#include <tapestry/core/clock.h>
#include <tapestry/core/tensor.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tapestry::checker {

/// The range of the numbers of one leaf, and its consequences for lines through a point inside.
class Box {
public:
    /// No bounds.
    Box() = default;
    /// One range for all numbers, or one for each; empty: no bounds.
    explicit Box(std::vector<Bounds> bounds) : bounds_(std::move(bounds)) {}

    /// The boxes of several leaves, from bounds as in GradcheckOptions: none, one for all, or one
    /// for each number of all leaves, in order. Throws ShapeError for any other number of bounds,
    /// ValueError if a leaf is outside its box.
    static std::vector<Box> of(const NamedTensors& leaves, const std::vector<Bounds>& bounds);

    bool is_bounded() const { return !bounds_.empty(); }
    bool contains(std::span<const double> x) const;
    /// x with numbers outside moved to the nearest bound.
    std::vector<double> nearest(std::vector<double> x) const;
    /// How far x + t u stays inside, for t < 0 and t > 0.
    Reach reach(const std::vector<double>& x, const std::vector<double>& u) const;
    /// u with all numbers on or near a bound turned to move inwards for t > 0, by no more than
    /// there is room for. Their signs are then no longer random, so every other one (by `seed`)
    /// moves half as far: this keeps it equally unlikely that errors cancel.
    std::vector<double> inwards(const std::vector<double>& x, std::vector<double> u,
                                std::uint64_t seed) const;

private:
    const Bounds& of(std::size_t i) const { return bounds_.size() == 1 ? bounds_[0] : bounds_[i]; }
    std::vector<Bounds> bounds_;
};

/// Limits the number and the total time of evaluations.
class Budget {
public:
    /// Not a std::exception, because those are caught when the user's function throws them.
    struct Spent {
        std::string limit;  ///< "the limit of 1000 evaluations"
    };

    /// Starts the clock. Throws ValueError for limits that are not positive.
    explicit Budget(const GradcheckLimits& limits);

    /// Counts one evaluation. Throws Spent if a limit does not allow it.
    void spend();

private:
    std::int64_t allowed_, evaluations_ = 0;
    double seconds_;
    Clock::time_point start_ = Clock::now();
};

}  // namespace tapestry::checker
