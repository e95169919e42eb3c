// Entries whose part of f is smaller than f's rounding: e^-40 next to e^0. Near x no step shows
// their slope, so a claim about it cannot be judged, however well it seems to agree.
// Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/compare.h>

#include <vector>

namespace tapestry::checker {

/// Whether a claim that passed is a definite number that f cannot show: it stays the same when
/// last bits change, so it is not left over from terms that cancel, and the differences could not
/// tell it from another of its size.
bool is_below_rounding(const Claim& claim, const Judgement& judgement,
                       const GradcheckLimits& limits);

/// Whether f, which does not change along the line next to x, grows smoothly out of its rounding
/// further away: then a claim of 0 only says that the slope is lost. A kink (a relu that is off, a
/// maximum of others) and a jump begin at once. Evaluates up to 44 values, 4 where f does not move.
bool grows_out_of_rounding(Line& line, const std::vector<double>& weights,
                           const Neighbourhood& around);

/// A claim of 0, or of rounding left over, that passed where f grows out of its rounding becomes
/// INCONCLUSIVE.
void leave_open_if_below_rounding(Line& line, const std::vector<double>& weights,
                                  const Neighbourhood& around, const Claim& claim,
                                  const Examination& examination, Judgement& judgement);

/// Entries that were checked one by one, in order: those that f shows, and those that are
/// undecided, because they are below its rounding or for another reason.
class ShownEntries {
public:
    /// A claim about this entry, and what came of it.
    void note(std::size_t entry, const SlopeReport& slope);
    /// Reports both as classes, if there are any below f's rounding.
    void state(InputReport& report) const;

private:
    struct Entry {
        std::size_t number = 0;
        double size = 0, resolution = 0;
        bool is_lost = false;  // below f's rounding
        bool is_open = false;  // INCONCLUSIVE
    };
    std::vector<Entry> entries_;
};

}  // namespace tapestry::checker
