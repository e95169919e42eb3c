// A claim that is off by little, nearly everywhere and in no pattern: a wrong gradient, or the
// right one of what f stands for and does not reach. An iteration that always stops after the same
// rounds is smooth and so looks exact; so does a badly conditioned system, whose rounding is nearly
// the same wherever it is solved. Nothing in f tells the two apart, and both are named.
// Internal to autograd/check. Read next: compare.cpp, which asks before it says FAIL.
#pragma once

#include <tapestry/autograd/check/compare.h>

#include <vector>

namespace tapestry::checker {

/// The slopes of one claim.
class NearMiss {
public:
    /// `uncertainty`: of the claim.
    void note(double claimed, double uncertainty, const Judgement& judgement);

    /// Is what is off as small as that, as a part of the whole gradient? And no constant factor,
    /// and no entry off by more than a little of itself?
    bool is_near(double limit) const;

    /// Is every wrong entry off by less than anybody mistakes by, 2e-7 of itself?
    bool is_tiny() const;

    /// |claimed - numeric| / |numeric|, of all entries together.
    double apart() const;
    /// Entries that are off by clearly more than the error of the differences.
    int off() const;
    /// These, and those whose differences are as sharp: they would show it if they were off as
    /// much.
    int telling() const;

private:
    struct Slope {
        double numeric, miss, error;
        bool is_wrong;

        bool is_off() const;
    };

    bool is_factor() const;

    std::vector<Slope> slopes_;  // that are not 0
};

/// Those of some entries of leaf `which`, here and there, after `found` was wrong: is the claim off
/// in all of them, or was there one that is? None where `found` is off by much.
std::vector<NearMiss> some_misses(Subject& subject, std::size_t which, const Neighbourhood& around,
                                  const ClaimedGradient& claim, const SlopeReport& found,
                                  const Examination& examination, const HiddenNoise& hidden);

/// FAIL becomes INCONCLUSIVE, and both explanations its note, where all claims are near, and half
/// of their entries or more off, for a mistake in one place leaves the others alone; or those that
/// are by next to nothing. (Not where the noise of f is declared.)
void leave_open_if_near(InputReport& report, const std::vector<NearMiss>& claims,
                        const Examination& examination);

}  // namespace tapestry::checker
