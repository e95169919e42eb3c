// Common mistakes in gradients, one function for each: does the claimed gradient look like it?
// Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/mistakes.h>
#include <tapestry/autograd/check/values.h>

#include <algorithm>
#include <optional>

namespace tapestry::checker {

/// How far apart two gradients may be and still count as the same: far above the error of
/// differences, far below the effect of mistakes.
inline constexpr double kSame = 1e-5;

/// Enough numbers to tell a pattern: two of them fit any.
inline constexpr std::size_t kTelling = 3;

/// A wrong gradient and the right one, at symptoms.places.
struct Wrong {
    const Symptoms& symptoms;
    Values claimed;
    Values right;
    double off = 0;       ///< distance(claimed, right)
    double same = kSame;  ///< the distance of equal gradients, given what is known of `right`

    /// Whether the function's numbers are those of a narrow format.
    bool is_narrow() const { return symptoms.blur > 0; }
    bool knows_all() const { return symptoms.places.size() == symptoms.claimed.size(); }

    /// What the rule claims for each single output; null if it cannot be asked.
    const ClaimedJacobian* jacobian() const;
};

inline bool same(const Values& a, const Values& b) { return distance(a, b) < kSame; }

/// Whether `a` is the same as `b`, and far closer to it than the claim is to the right gradient.
/// For a small mistake, many models would be close.
inline bool explains(const Wrong& w, const Values& a, const Values& b) {
    constexpr double kFar = 0.03, kFarInFormat = 0.2;
    constexpr double kSameAmongMany = 1e-4;  // sums of very many numbers round
    const double rest = distance(a, b), far = w.same > kSame ? kFarInFormat : kFar;
    return rest < (w.knows_all() ? w.same : std::max(w.same, kSameAmongMany)) && rest < far * w.off;
}

/// The gradient at the places for another cotangent.
Values gradient_for(const Symptoms& symptoms, const Values& cotangent);

/// How far apart a difference of gradients and its explanation may be: what the right gradient
/// leaves uncertain is a larger part of a small difference.
double same_difference(const Wrong& w, const Values& difference);

/// Whether each output depends only on its own element.
bool is_diagonal(const Wrong& w);

/// Whether the operand and the output have the same shape.
inline bool elementwise(const Wrong& w) { return w.symptoms.shape == w.symptoms.output; }

/// "to 3e-10 of its norm": how well `model` explains the claim.
std::string closeness(const Wrong& w, const Values& model);

using Match = std::optional<Cause>;

// Values (mistakes_in_values.cpp).
Match looks_not_finite(const Wrong& w);         ///< infinite or NaN
Match looks_steep_where_flat(const Wrong& w);   ///< as far as can be seen, f is constant
Match looks_zero(const Wrong& w);               ///< all of it, or that of one of two uses
Match looks_negated(const Wrong& w);            ///< times -1
Match looks_scaled_by_a_count(const Wrong& w);  ///< times 2, n, sqrt(n), or divided by it
Match looks_scaled(const Wrong& w);             ///< times a constant
Match looks_like_a_chain_factor(
    const Wrong& w);  ///< the op's own derivative missing, or applied twice

// Elements (mistakes_in_elements.cpp).
Match looks_clearly_partly_right(const Wrong& w);  ///< few are wrong, or which ones has a name
Match looks_partly_right(const Wrong& w);          ///< right except for some elements
Match looks_off_by_few_values(const Wrong& w);     ///< of a constant: a target, a mask

// Outputs (mistakes_in_outputs.cpp).
Match looks_off_in_outputs(const Wrong& w);  ///< what some outputs contribute times a factor

// Rows (mistakes_in_rows.cpp).
Match looks_like_some_samples(const Wrong& w);  ///< only the last or first sample, or all others
Match looks_conjugate(const Wrong& w);          ///< the second number of every pair negated
Match looks_off_in_rows(const Wrong& w);        ///< rows times factors

// Order (mistakes_in_places.cpp).
Match looks_permuted(const Wrong& w);  ///< axes exchanged, or column by column
Match looks_shifted(const Wrong& w);   ///< moved along an axis
Match looks_flipped(const Wrong& w);   ///< reversed along an axis

// Direction (mistakes_in_direction.cpp).
Match looks_like_the_jacobian(const Wrong& w);  ///< J g instead of J^T g
Match looks_unsymmetric(const Wrong& w);        ///< of a symmetric gradient, not averaged
Match misreads_the_incoming(const Wrong& w);    ///< permuted, flipped or shifted before the rule
Match reverses_each_output(const Wrong& w);     ///< a convolution's kernel flipped
Match runs_the_wrong_way(const Wrong& w);       ///< from outputs before for those after
Match arrives_elsewhere(const Wrong& w);        ///< contributions at other elements

// Entries of the Jacobian (mistakes_in_jacobians.cpp).
Match drops_contributions(const Wrong& w);         ///< some are 0, also the diagonal alone
Match drops_outputs(const Wrong& w);               ///< the same, of whole outputs
Match ignores_a_mask(const Wrong& w);              ///< more of them than f has
Match mixes_rows(const Wrong& w);                  ///< a sum over too much, or along another axis
Match looks_like_other_factors(const Wrong& w);    ///< of each output, element or both
Match looks_like_another_formula(const Wrong& w);  ///< factors of outputs, elements or both
Match has_a_wrong_sum(const Wrong& w);             ///< off in one direction in each row

// Places (mistakes_in_places.cpp).
Match looks_unsummed(const Wrong& w);  ///< of a broadcast operand: from one place, or summed twice
Match looks_like_another_operand(const Wrong& w);  ///< another operand's gradient
Match looks_stale(const Wrong& w);                 ///< the gradient of an earlier call

// Terms (mistakes_in_values.cpp).
Match lacks_the_direct_way(const Wrong& w);   ///< a residual connection is not added
Match lacks_a_constant_term(const Wrong& w);  ///< a sum or mean along an axis is not subtracted
Match lacks_an_output_term(const Wrong& w);   ///< the same, times the output

// Terms (mistakes_in_terms.cpp).
Match has_a_term_too_many(const Wrong& w);       ///< a mean or projection is subtracted
Match looks_off_by_a_term(const Wrong& w);       ///< along x, the output or a constant
Match looks_like_a_factor_of_x(const Wrong& w);  ///< times x, 1/x, exp x or exp -x
Match looks_of_rank_one(const Wrong& w);         ///< off in one direction, for any cotangent

}  // namespace tapestry::checker
