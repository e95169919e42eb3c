// What a wrong gradient looks like, in words: the mistakes that are commonly made.
#pragma once

#include <string>
#include <string_view>

namespace tapestry {

enum class Mistake {
    unknown,
    not_finite,    ///< infinite or NaN
    zero,          ///< nothing arrives
    dropped,       ///< a value used twice by one op: one of its uses gives nothing
    sign,          ///< times -1
    factor,        ///< times a constant
    permuted,      ///< axes exchanged
    missing_sum,   ///< a broadcast operand's gradient taken from one place, not summed over all
    doubled_sum,   ///< the same summed once too often
    flipped,       ///< reversed along an axis
    shifted,       ///< moved by one element or more, cyclically or with zeros following
    samples,       ///< the contribution of the last or first sample alone, or all but that
    rows,          ///< some rows, or each, times a factor
    conjugate,     ///< the second number of every pair with the wrong sign
    stale,         ///< another operand's, or an earlier call's
    chain,         ///< the op's own factor missing, or there twice
    detached,      ///< a way from input to output that the tape does not see
    missing_term,  ///< a mean or sum along an axis is not subtracted
    partial,       ///< right but for some elements
    overwrites,    ///< the rule changes the gradient that it was handed
};

std::string_view to_string(Mistake mistake);

struct Cause {
    Mistake mistake = Mistake::unknown;
    std::string evidence = {};  ///< "claimed = 0.5 * numeric, to 3e-10 of it; 1/2 = 1/sqrt(4)"
    std::string hint = {};      ///< what to look at, in words
};

}  // namespace tapestry
