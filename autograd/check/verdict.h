// The words of the gradient checker: what it says of one slope, and of everything together; what a
// wrong gradient looks like; and the formats that a plain function's numbers may be stored in.
// Read next: report.h, which is made of them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
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
    limit,              ///< no more evaluations, or no more time, were allowed
    bounds,             ///< x has no room to move between its bounds
    undeclared_error,   ///< off by little everywhere: wrong, or right of what f approximates
};

std::string_view to_string(Verdict verdict);
std::string_view to_string(Reason reason);

/// What differences say of one claimed slope.
struct Judgement {
    Verdict verdict = Verdict::pass;
    Reason reason = Reason::none;
    bool subgradient = false;  ///< x is on a kink, and the claim lies between the two slopes
    bool constant = false;     ///< f does not move at all near x, and the claim is not 0
    double numeric = 0;        ///< the estimated slope; on a kink the nearer of the two
    double error = 0;          ///< estimated, of `numeric`
    double tolerance = 0;      ///< what |claim - numeric| may be
    double step = 0;           ///< the largest h that went into `numeric`
    double noise = 0;          ///< how uncertain one value of <weights, f> is
    /// The part of the entry's own size by which a claim that passes may still be off: tolerance
    /// and error together. Of a direction: of what an entry of the usual size contributes to it.
    double resolution = 0;
    double above = 0;  ///< <weights, f(step)>
    double below = 0;  ///< <weights, f(-step)>
};

/// What a wrong gradient looks like, in words: the mistakes that are commonly made.
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

/// What a plain function's numbers are stored in.
enum class Format { f64, f32, bf16, f16 };

std::string_view to_string(Format format);

/// The nearest number of the format, ties to even; infinity beyond its largest.
double rounded(Format format, double x);

/// Between 1 and the next number.
double epsilon(Format format);

/// Where a number may lie.
struct Bounds {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
};

/// How small an error must be to pass unseen.
struct GradcheckLimits {
    /// Of an entry's own size: where errors larger than this may pass unseen, the verdict is
    /// inconclusive. What may pass below it, a judgement says: its resolution.
    double resolution = 1e-3;
    /// What f's numbers are stored in. Below f64 there are so few of them that slopes are fitted to
    /// many values.
    Format format = Format::f64;
    /// By how much an error may exceed what was estimated.
    double safety = 6;
    /// A claim that agrees with the differences to this part of itself is right: of functions that
    /// nobody can look into it is not known how they round, nor how their gradients do.
    double agreement = 0;
    /// A claim that is off by less than this part of the whole gradient, nearly everywhere and in
    /// no pattern, is inconclusive: it may be the gradient of what f approximates. 0 for a tape,
    /// whose ops say what they compute, and where f's noise is declared.
    double approximation = 0;
    /// May an entry pass that is lost in the error of the differences, beside larger ones? Of a
    /// tape each op can be checked by itself; of a plain function there is nothing else to go by.
    bool lost_may_pass = true;
    /// The part of the scale by which an exact oracle may differ: it rounds inside, too, and that
    /// cannot be seen from outside.
    double exact = 1e-10;
    /// How often f is evaluated, and for how many seconds, at the most. What was not looked at by
    /// then is inconclusive. A call of f that takes longer is waited for.
    std::int64_t evaluations = std::numeric_limits<std::int64_t>::max();
    double seconds = std::numeric_limits<double>::infinity();
};

}  // namespace tapestry
