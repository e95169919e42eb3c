// What a rule claims for each single output, next to the right Jacobian.
// Internal to autograd/check. Read next: mistakes_in_jacobians.cpp, what a difference tells.
#pragma once

#include <tapestry/autograd/check/mistakes.h>
#include <tapestry/autograd/check/values.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace tapestry::checker {

/// The claimed and the right Jacobian at the places of `symptoms`, which must outlive it.
class ClaimedJacobian {
public:
    /// Asks symptoms.rule once for each output. `same`: the relative distance of equal numbers.
    ClaimedJacobian(const Symptoms& symptoms, double same);

    /// Whether there is a rule to ask, and few enough outputs.
    static bool is_known(const Symptoms& symptoms);

    std::size_t places() const { return symptoms_.places.size(); }
    std::size_t outputs() const { return claims_.size(); }
    /// Whether the rule was too slow to be asked for every output.
    bool is_empty() const { return claims_.empty(); }
    double claimed(std::size_t p, std::size_t i) const { return claims_[i][p]; }
    double right(std::size_t p, std::size_t i) const { return symptoms_.slopes[p][i]; }
    double error(std::size_t p, std::size_t i) const { return claimed(p, i) - right(p, i); }

    /// Whether the claim is `value`, as far as the differences tell.
    bool is_claimed(std::size_t p, std::size_t i, double value) const;
    /// Whether element p does not reach output i, as far as the differences tell.
    bool is_right_zero(std::size_t p, std::size_t i) const;

    /// Both are diagonal: the place that is off most; nullopt if they are not.
    std::optional<std::size_t> diagonal_of_its_own() const;
    /// Claimed over right on the diagonal; NaN where f leaves 0.
    Values factors_on_diagonal() const;
    /// Each output's entries are the right ones times its factor, or each element's: the factors,
    /// NaN for those that f leaves at 0; nullopt if it is not so. Or times a factor of both.
    std::optional<Values> factors_of_outputs() const;
    std::optional<Values> factors_of_places() const;
    bool is_scaled_by_both() const;
    /// Whether no two elements reach each other's outputs, as in a scan.
    bool goes_one_way() const;
    /// Whether each element gets what reaches it in the transposed order alone: outputs that f
    /// makes of others.
    bool has_a_transposed_support() const;
    /// Whether it is only wrong where the element has the output's index.
    bool is_off_on_the_diagonal() const;

private:
    double doubt(std::size_t p, std::size_t i) const;
    double allowed(std::size_t p, std::size_t i, double value) const;
    template <class Right, class Claimed, class IsZero, class Same>
    static std::optional<Values> multiples(std::size_t lines, std::size_t length, Right right,
                                           Claimed claimed, IsZero is_zero, Same same);

    const Symptoms& symptoms_;
    double same_;
    std::vector<Values> claims_;  // [output][place]
    Values largest_of_place_, largest_of_output_;
};

}  // namespace tapestry::checker
