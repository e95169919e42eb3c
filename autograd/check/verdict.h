// The words of the gradient checker.
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

}  // namespace tapestry
