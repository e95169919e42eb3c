// The other oracles: dual numbers and the transpose identity.
#include <tapestry/autograd/check/whole_check.h>

#include <tapestry/autograd/check/quotients.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tapestry::checker {

Oracles::Oracles(Subject& subject, const GradcheckOptions& options,
                 const std::vector<double>& weights, const Neighbourhood& around)
    : subject_(subject),
      options_(options),
      weights_(weights),
      around_(around),
      worth_(weighted(around.base.values).second) {
    for (const auto& values : around_.elsewhere) {
        const double size = weighted(values).second;
        if (std::isfinite(size)) worth_ = std::max(worth_, size);
    }
}

// The sum of w s, and the sum of its terms' sizes.
std::pair<double, double> Oracles::weighted(const Values& slopes) const {
    double sum = 0, size = 0;
    for (std::size_t k = 0; k < slopes.size(); ++k) {
        sum += weights_[k] * slopes[k];
        size += std::abs(weights_[k] * slopes[k]);
    }
    return {sum, size};
}

std::vector<Opinion> Oracles::ask(std::size_t i, const ClaimedGradient& claim) {
    const Values x = subject_.leaves()[i].second.to_vector<double>();
    const Values u = random_direction(x, options_.seed + 7 * i);
    const Claim along = claim_along(claim, u);
    std::vector<Opinion> opinions;
    if (options_.dual && complaint_.empty()) {
        give(kDualNumbers, dual_slopes(i, u), along, x.size(), opinions);
    }
    if (options_.transpose) give(kTranspose, subject_.jvp(i, u), along, x.size(), opinions);
    return opinions;
}

// `terms`: the number of terms in the slope along the direction.
void Oracles::give(const char* oracle, const Values& slopes, const Claim& claim, std::size_t terms,
                   std::vector<Opinion>& opinions) const {
    const auto [slope, size] = weighted(slopes);
    // A definition in plain formulas may overflow where the op does not: then it has no opinion.
    // Nor is there anything to compare with if the gradient is infinite.
    const bool none = slopes.size() != weights_.size();
    if (none || !std::isfinite(slope) || !std::isfinite(claim.slope)) return;
    const double rounding =
        4 * kEps * (size + claim.scale * std::sqrt(static_cast<double>(terms)) + 16 * worth_);
    Opinion opinion{.oracle = oracle, .slope = slope, .claimed = claim.slope};
    // A slope that has decayed (a softmax far out) is the small difference of terms as large as f.
    constexpr double kDied = 1e-2;
    opinion.tolerance = options_.limits.safety * (claim.uncertainty + rounding) +
                        options_.limits.exact * std::max(claim.scale, kDied * worth_);
    opinion.agrees = std::abs(slope - claim.slope) <= opinion.tolerance;
    opinions.push_back(std::move(opinion));
}

// Whether the dual numbers compute f at all. Where they are infinite or NaN they have no opinion.
bool Oracles::is_the_function(const Values& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double y = around_.base.values[i];
        if (!std::isfinite(values[i]) && std::isfinite(y)) return false;
        if (values[i] == y || std::isnan(y)) continue;
        if (std::abs(values[i] - y) <= 1e-3 * std::max(std::abs(y), 1e-6 * worth_)) continue;
        complaint_ = fmt::format(
            "the dual numbers are of another function: output element {} is {:.10g} there, "
            "{:.10g} here",
            i, values[i], y);
        return false;
    }
    return true;
}

// All inputs as dual numbers, with leaf i moving along u. Empty: no opinion.
Oracles::Values Oracles::dual_slopes(std::size_t i, const Values& u) {
    std::vector<std::vector<Dual>> inputs;
    for (std::size_t j = 0; j < subject_.leaves().size(); ++j) {
        inputs.emplace_back();
        const Values x = subject_.leaves()[j].second.to_vector<double>();
        for (std::size_t k = 0; k < x.size(); ++k) {
            inputs.back().emplace_back(x[k], i == j ? u[k] : 0.0);
        }
    }
    Values values, slopes;
    for (const Dual& y : options_.dual(inputs)) {
        values.push_back(y.value);
        slopes.push_back(y.slope);
    }
    require<ShapeError>(slopes.size() == weights_.size(),
                        "gradcheck: the dual function gave {} numbers for {} outputs",
                        slopes.size(), weights_.size());
    return is_the_function(values) ? slopes : Values{};
}

}  // namespace tapestry::checker
