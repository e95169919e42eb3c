// Limits on how a function under test is called: where its leaves' numbers may lie (Box), and how
// often it is evaluated (Budget). Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/quotients.h>
#include <tapestry/autograd/check/verdict.h>
#include <tapestry/core/clock.h>
#include <tapestry/core/tensor.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tapestry::checker {

/// Where the numbers of one leaf may lie, and what that means for lines through a point in there.
class Box {
public:
    /// All numbers.
    Box() = default;
    /// One for all, or one for each number; none: as above.
    explicit Box(std::vector<Bounds> bounds) : bounds_(std::move(bounds)) {}

    /// The boxes of several leaves, from bounds as GradcheckOptions has them: none, one for all, or
    /// one for each number of all leaves in turn. Throws ShapeError where there are others as many,
    /// ValueError where a leaf lies outside of its box.
    static std::vector<Box> of(const NamedTensors& leaves, const std::vector<Bounds>& bounds);

    bool contains(const std::vector<double>& x) const;
    /// x, numbers outside moved to the nearest bound.
    std::vector<double> nearest(std::vector<double> x) const;
    /// How far x + t u stays inside, for t < 0 and t > 0.
    Reach reach(const std::vector<double>& x, const std::vector<double>& u) const;
    /// u, all numbers that stand on a bound or near one turned to move inwards for t > 0, and no
    /// further than there is room. Their signs are no longer random, so that every other one (by
    /// `seed`) moves half as far: an error then remains as hard to cancel.
    std::vector<double> inwards(const std::vector<double>& x, std::vector<double> u,
                                std::uint64_t seed) const;

private:
    const Bounds& of(std::size_t i) const { return bounds_.size() == 1 ? bounds_[0] : bounds_[i]; }
    std::vector<Bounds> bounds_;
};

/// How often a function may still be evaluated, and until when.
class Budget {
public:
    /// No std::exception, for what somebody's function throws is caught as one.
    struct Spent {
        std::string limit;  ///< "the limit of 1000 evaluations"
    };

    /// Time counts from here. Throws ValueError for limits that are not positive.
    explicit Budget(const GradcheckLimits& limits);

    /// One evaluation more. Throws Spent where a limit allows none.
    void spend();

private:
    std::int64_t allowed_, evaluations_ = 0;
    double seconds_;
    Clock::time_point start_ = Clock::now();
};

}  // namespace tapestry::checker
