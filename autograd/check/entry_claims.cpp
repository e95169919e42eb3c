#include <tapestry/autograd/check/entry_claims.h>

#include <tapestry/autograd/check/quotients.h>
#include <tapestry/autograd/check/values.h>

#include <algorithm>
#include <cmath>

namespace tapestry::checker {
namespace {

// The largest change of an entry of the gradient when bits are shaken.
double largest_change(const ClaimedGradient& claim) {
    double moved = 0;
    for (const auto& shaken : claim.shaken) {
        for (std::size_t i = 0; i < shaken.size(); ++i) {
            moved = std::max(moved, or_zero(std::abs(shaken[i] - claim.gradient[i])));
        }
    }
    return moved;
}

// The same of an entry's contribution if x moves by its own size: rounding in backward that reaches
// other entries is of that size if these have other units.
double largest_contribution_change(const ClaimedGradient& claim, const std::vector<double>& steps) {
    double moved = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        double change = kEps * or_zero(std::abs(claim.gradient[i]));
        for (const auto& shaken : claim.shaken) {
            change = std::max(change, or_zero(std::abs(shaken[i] - claim.gradient[i])));
        }
        moved = std::max(moved, or_zero(change * steps[i]));
    }
    return moved;
}

}  // namespace

std::vector<double> steps_of(const std::vector<double>& x) {
    const double typical = typical_size(x);
    std::vector<double> steps;
    for (const double value : x) steps.push_back(std::max(std::abs(value), typical));
    return steps;
}

std::vector<Claim> sizes_of(std::span<const ClaimedGradient> claims,
                            const std::vector<double>& steps) {
    double rounding = 0, scale = 0, contribution = 0;  // for weights of norm 1
    for (const auto& claim : claims) {
        const double size = claim.evened || claim.alone ? 0 : norm(claim.weights);
        if (!(size > 0)) continue;
        rounding = std::max(rounding, largest_change(claim) / size);
        scale = std::max(scale, largest(claim.gradient) / size);
        contribution = std::max(contribution, largest_contribution_change(claim, steps) / size);
    }
    std::vector<Claim> sizes;
    for (const auto& claim : claims) {
        Claim size;
        size.scale = largest(claim.gradient);
        const bool own = claim.evened || claim.alone;
        const double moved = own ? largest_change(claim) : rounding * norm(claim.weights);
        size.shared = std::max(moved, kEps * size.scale);
        size.nothing =
            own ? largest_contribution_change(claim, steps) : contribution * norm(claim.weights);
        size.uncertainty = size.shared;
        size.shared_scale = claim.alone ? size.scale : scale * norm(claim.weights);
        size.evened = claim.evened;
        size.alone = claim.alone;
        size.vanishes = size.scale <= kRounding * size.uncertainty;
        sizes.push_back(size);
    }
    return sizes;
}

double rounding_of(std::span<const ClaimedGradient> claims, std::size_t entry) {
    double most = 0;
    for (const auto& claim : claims) {
        const double here = claim.gradient[entry], weight = norm(claim.weights);
        double moved = kEps * or_zero(std::abs(here));
        for (const auto& shaken : claim.shaken) {
            moved = std::max(moved, or_zero(std::abs(shaken[entry] - here)));
        }
        most = std::max(most, weight > 0 ? moved / weight : 0);
    }
    return most;
}

Claim of_entry(const Claim& all, const ClaimedGradient& claim, std::size_t entry, double step,
               double rounding, const GradcheckLimits& limits) {
    Claim one = all;
    one.slope = claim.gradient[entry];
    one.nothing = std::min(all.shared, all.nothing / step);
    if (limits.lost_may_pass) return one;
    one.alone = true;
    one.uncertainty = kEps * std::abs(one.slope);
    for (const auto& shaken : claim.shaken) {
        one.uncertainty = std::max(one.uncertainty, or_zero(std::abs(shaken[entry] - one.slope)));
    }
    one.vanishes = one.scale <= kRounding * one.uncertainty;
    if (one.slope == 0) one.shared = std::max(one.shared, claim.unseen / step);
    if (limits.format == Format::f64) {
        one.explained = rounding * norm(claim.weights) + claim.unseen / step;
    }
    return one;
}

}  // namespace tapestry::checker
