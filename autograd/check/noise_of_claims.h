// The hidden noise of f for each claim about one leaf, measured once, at the first request: along
// lines on which all numbers move, which meet jumps that moving a single one cannot reach.
// Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/compare.h>

#include <algorithm>
#include <span>
#include <vector>

namespace tapestry::checker {

/// More entries than this are many: each evaluation is expensive.
inline constexpr std::size_t kManyEntries = 4096;

class NoiseOfClaims {
public:
    /// All arguments must outlive it.
    NoiseOfClaims(Subject& subject, std::size_t which, std::span<const ClaimedGradient> claims)
        : subject_(subject), which_(which), claims_(claims), known_(claims.size()) {}

    /// As HiddenNoise.
    double of(std::size_t claim, Jumps jumps);

    /// Its noise without jumps if that has been measured; otherwise 0.
    double measured(std::size_t claim) const { return std::max(known_[claim].alone, 0.0); }

private:
    struct Known {
        double alone = -1, noise = -1;  // without jumps and with them; f moves nowhere
        bool has_noise = false;
        Jumps jumps = Jumps::none;  // those that were looked for
    };

    bool is_large() const;
    std::vector<Line>& lines();

    Subject& subject_;
    std::size_t which_;
    std::span<const ClaimedGradient> claims_;
    std::vector<Line> lines_;
    std::vector<Known> known_;
};

}  // namespace tapestry::checker
