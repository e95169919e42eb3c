// Which entry of a large gradient is wrong? A direction along which the claim is off is halved: the
// half that is still off is halved again. Twenty differences find one entry among a million.
// Internal to autograd/check. Read next: compare.cpp, which looks at that entry by itself.
#pragma once

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/quotients.h>

#include <optional>

namespace tapestry::checker {

/// An entry at which a claim seems to be wrong.
struct WrongEntry {
    std::size_t index = 0;  ///< of the first in memory order that could be seen
    int seen = 1;           ///< so many are wrong at least
};

/// Looks for the wrong entry where a direction seems to be off, and judges it by itself: once in
/// vain is enough.
class WrongEntrySearch {
public:
    /// All arguments must outlive it; what is found is written to `report`.
    WrongEntrySearch(Subject& subject, std::size_t which, const Neighbourhood& around,
                     const Examination& examination, InputReport& report)
        : subject_(subject),
          which_(which),
          around_(around),
          examination_(examination),
          report_(report) {}

    /// The judgement of an entry that is wrong beyond doubt. `along`: what is claimed along `line`,
    /// whose first differences decide whether it is worth looking.
    std::optional<SlopeReport> look(Line& line, const ClaimedGradient& claim, const Claim& along,
                                    const HiddenNoise& hidden);
    /// The same where the claim is known to be wrong along some direction.
    std::optional<SlopeReport> locate(const ClaimedGradient& claim, const HiddenNoise& hidden);

    /// |claimed - numeric| along the line at which look() found something wrong, as a part of what
    /// the whole gradient comes to along it.
    double apart() const { return apart_; }

private:
    // By which part of itself a claim is off along a line, and how well that is known.
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
    bool looked_ = false;
    const ClaimedGradient* sought_ = nullptr;  // in vain, or not at all
    double apart_ = 0;
};

/// The first entry of leaf `which` at which claim.gradient is off; nothing if the claim is not off
/// along random directions by clearly more than the error of the differences. `noise`: what an
/// evaluation is uncertain by at least.
std::optional<WrongEntry> find_wrong_entry(Subject& subject, std::size_t which,
                                           const Neighbourhood& around,
                                           const ClaimedGradient& claim, double noise,
                                           std::uint64_t seed);

}  // namespace tapestry::checker
