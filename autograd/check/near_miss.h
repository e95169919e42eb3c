// A claim that is off by little, nearly everywhere and in no pattern, is either a wrong gradient or
// the right gradient of a function that f only approximates. An iteration that always stops after
// the same number of rounds is smooth and so looks exact; so does a badly conditioned system, whose
// rounding errors are nearly the same at all points. Nothing in f distinguishes the two cases, so
// the report names both. Internal to autograd/check. Read next: compare.cpp, which checks for this
// before it reports FAIL.
#pragma once

#include <tapestry/autograd/check/compare.h>

#include <vector>

namespace tapestry::checker {

/// The slopes of one claim.
class NearMiss {
public:
    /// Records one slope. `uncertainty`: of the claim.
    void note(double claimed, double uncertainty, const Judgement& judgement);

    /// Whether the error is at most `limit` of the whole gradient, is not a constant factor, and no
    /// entry is off by more than a little of itself.
    bool is_near(double limit) const;

    /// Whether every wrong entry is off by less than any mistake would cause, 2e-7 of itself.
    bool is_tiny() const;

    /// |claimed - numeric| / |numeric|, over all entries together.
    double apart() const;
    /// The number of entries that are off by clearly more than the error of the differences.
    int off() const;
    /// These, and those whose differences are sharp enough to show an error of the same relative
    /// size.
    int telling() const;

private:
    struct Slope {
        double numeric, miss, error;
        bool is_wrong;

        bool is_off() const;
    };

    bool is_factor() const;

    std::vector<Slope> slopes_;  // those that are not 0
};

/// Misses of some evenly spaced entries of leaf `which`, after `found` was wrong, to tell whether
/// the claim is off in all of them or in one. Records none if `found` is off by much.
std::vector<NearMiss> some_misses(Subject& subject, std::size_t which, const Neighbourhood& around,
                                  const ClaimedGradient& claim, const SlopeReport& found,
                                  const Examination& examination, const HiddenNoise& hidden);

/// FAIL becomes INCONCLUSIVE, with both explanations as its note, if all claims are near and at
/// least half of their entries are off, because a mistake in one place leaves the others right; or
/// if those that are off are off by almost nothing. (Not if the noise of f is declared.)
void leave_open_if_near(InputReport& report, const std::vector<NearMiss>& claims,
                        const Examination& examination);

}  // namespace tapestry::checker
