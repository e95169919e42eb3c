// The words of the gradient checker: what it says of one slope, and of everything together.
#pragma once

#include <string_view>

namespace tapestry {

enum class Verdict {
    pass,          ///< right, as far as can be seen, and enough could be seen
    inconclusive,  ///< nothing can be said, and there is a reason for it
    fail,          ///< wrong
};

/// Why a check is inconclusive.
enum class Reason {
    none,
    roundoff,           ///< the function's own rounding hides its slope at every step
    truncation,         ///< no step is small enough for the differences to settle
    kink,               ///< branches change at every step, and no side is smooth
    not_finite,         ///< the function or its gradient is infinite or NaN here
    not_deterministic,  ///< the same inputs give different values
};

std::string_view to_string(Verdict verdict);
std::string_view to_string(Reason reason);

/// What differences say of one claimed slope.
struct Judgement {
    Verdict verdict = Verdict::pass;
    Reason reason = Reason::none;
    bool subgradient = false;  ///< x is on a kink, and the claim lies between the two slopes
    double numeric = 0;        ///< the estimated slope; on a kink the nearer of the two
    double error = 0;          ///< estimated, of `numeric`
    double tolerance = 0;      ///< what |claim - numeric| may be
    double step = 0;           ///< the largest h that went into `numeric`
    double above = 0;          ///< <weights, f(step)>
    double below = 0;          ///< <weights, f(-step)>
};

/// How small an error must be to pass unseen.
struct GradcheckLimits {
    /// Errors below this part of the claim's scale may pass unseen; where larger ones would, the
    /// verdict is inconclusive.
    double resolution = 1e-6;
    /// By how much an error may exceed what was estimated.
    double safety = 6;
    /// The part of the scale by which an exact oracle may differ: it rounds inside, too, and that
    /// cannot be seen from outside.
    double exact = 1e-10;
};

}  // namespace tapestry
