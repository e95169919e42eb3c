// The claims about single entries: the size next to which an error matters, and their uncertainty.
// Internal to autograd/check. Read next: compare.cpp, which examines them.
#pragma once

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/slope.h>

#include <cmath>
#include <span>
#include <vector>

namespace tapestry::checker {

inline double or_zero(double value) { return std::isfinite(value) ? value : 0; }

/// How far each number of x moves: by its own size.
std::vector<double> steps_of(const std::vector<double>& x);

/// Scale and uncertainty of the claims about every entry, for each of the weights. Rounding in
/// backward is about the same for all outputs, and may by chance not show in one of them: that is
/// the uncertainty shared.
std::vector<Claim> sizes_of(std::span<const ClaimedGradient> claims,
                            const std::vector<double>& steps);

/// The rounding of one entry in the most uncertain of the claims, for weights of norm 1. An output
/// that an entry does not reach adds none to it.
double rounding_of(std::span<const ClaimedGradient> claims, std::size_t entry);

/// The claim about one entry, of those that `all` is the size of; `rounding`: as above. That of a
/// plain function is at first as uncertain as it is itself; examine() comes back to what all claims
/// share.
Claim of_entry(const Claim& all, const ClaimedGradient& claim, std::size_t entry, double step,
               double rounding, const GradcheckLimits& limits);

}  // namespace tapestry::checker
