#include <tapestry/autograd/check/noise_of_claims.h>

#include <tapestry/autograd/check/noise.h>

#include <algorithm>
#include <iterator>

namespace tapestry::checker {

double NoiseOfClaims::of(std::size_t claim, Jumps jumps) {
    const auto& weights = claims_[claim].weights;
    Known& known = known_[claim];
    if (!known.has_noise) {
        for (Line& line : lines()) known.noise = std::max(known.noise, noise_along(line, weights));
        known.alone = known.noise;
        known.has_noise = true;
    }
    if (jumps == Jumps::none) return known.alone;
    if (jumps <= known.jumps) return known.noise;
    known.jumps = jumps;
    const double least = is_large() ? std::max(known.noise, 0.0) : 0;
    for (Line& line : lines()) {
        const double jump = jump_along(line, weights, jumps, least);
        if (jump > 0) known.noise = std::max(known.noise, jump);
        if (jumps == Jumps::everywhere) break;  // one line meets them
    }
    return known.noise;
}

bool NoiseOfClaims::is_large() const {
    return subject_.leaves()[which_].second.numel() > static_cast<std::int64_t>(kManyEntries);
}

// With very many numbers moving, one line meets what two would.
std::vector<Line>& NoiseOfClaims::lines() {
    constexpr std::uint64_t kSeeds[] = {4711, 4712};
    for (std::size_t i = lines_.size(); i < (is_large() ? 1 : std::size(kSeeds)); ++i) {
        lines_.push_back(subject_.along(which_, subject_.direction(which_, kSeeds[i]), 1));
    }
    if (lines_.size() == std::size(kSeeds)) {
        // If all numbers grow together, an iteration takes more rounds: from a quarter of their
        // size to almost twice.
        auto u = subject_.leaves()[which_].second.to_vector<double>();
        for (double& value : u) value *= 1.5;
        lines_.push_back(subject_.along(which_, u, 1));
    }
    return lines_;
}

}  // namespace tapestry::checker
