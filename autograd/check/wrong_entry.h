// Finds the wrong entry of a large gradient by bisection: a direction along which the claim is off
// is halved, and the half that is still off is halved again. Twenty differences find one entry
// among a million. Internal to autograd/check. Read next: compare.cpp, which checks that entry by
// itself.
#pragma once

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/quotients.h>

#include <optional>
#include <utility>
#include <vector>

namespace tapestry::checker {

/// An entry at which a claim seems to be wrong.
struct WrongEntry {
    std::size_t index = 0;  ///< of the first in memory order that could be seen
    int seen = 1;           ///< at least this many are wrong
};

/// Searches for the wrong entry where a direction seems to be off, and judges it by itself; does
/// not repeat a search that failed.
class WrongEntrySearch {
public:
    /// All arguments must outlive it; results are written to `report`.
    /// `shares`: the fraction of its step that each entry moves; empty: all of it.
    WrongEntrySearch(Subject& subject, std::size_t which, const Neighbourhood& around,
                     const Examination& examination, InputReport& report,
                     std::vector<double> shares = {})
        : subject_(subject),
          which_(which),
          around_(around),
          examination_(examination),
          report_(report),
          shares_(std::move(shares)) {}

    /// The judgement of an entry that is wrong beyond doubt. `along`: the claim along `line`, whose
    /// first differences decide whether a search is worthwhile.
    std::optional<SlopeReport> look(Line& line, const ClaimedGradient& claim, const Claim& along,
                                    const HiddenNoise& hidden);
    /// The same if the claim is known to be wrong along some direction.
    std::optional<SlopeReport> locate(const ClaimedGradient& claim, const HiddenNoise& hidden);

    /// |claimed - numeric| along the line at which look() found an error, relative to the scale of
    /// the whole gradient along it.
    double apart() const { return apart_; }

private:
    // The relative error of a claim along a line, and the uncertainty of that.
    struct Part {
        double off = 0, error = 0;
    };
    static Part part_of(const Claim& along, const Attempt& attempt);

    std::optional<SlopeReport> judge_as_factor(const ClaimedGradient& claim, const Part& seen,
                                               const HiddenNoise& hidden);

    Subject& subject_;
    std::size_t which_;
    const Neighbourhood& around_;
    const Examination& examination_;
    InputReport& report_;
    std::vector<double> shares_;
    bool looked_ = false;
    const ClaimedGradient* sought_ = nullptr;  // whose search failed or was not made
    double apart_ = 0;
};

/// The first entry of leaf `which` at which claim.gradient is off; nullopt unless the claim is off
/// along random directions by clearly more than the error of the differences. `noise`: lower bound
/// on the uncertainty of an evaluation; `shares`: as above.
std::optional<WrongEntry> find_wrong_entry(Subject& subject, std::size_t which,
                                           const Neighbourhood& around,
                                           const ClaimedGradient& claim,
                                           const std::vector<double>& shares, double noise,
                                           std::uint64_t seed);

}  // namespace tapestry::checker
