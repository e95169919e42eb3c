// The vocabulary of the gradient checker: verdicts on one slope and on everything together; kinds
// of wrong gradients; and the formats of a plain function's numbers.
// Read next: report.h, which uses them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace tapestry {

/// The verdict on a gradient, or on a part of it.
enum class Verdict {
    pass,          ///< right, as far as can be seen, and enough could be seen
    inconclusive,  ///< cannot be judged, see Reason
    fail,          ///< wrong
};

/// Why a check is inconclusive.
enum class Reason {
    none,               ///< it is not
    roundoff,           ///< the function's own rounding hides its slope at every step
    truncation,         ///< no step is small enough for the differences to settle
    kink,               ///< branches change at every step, and neither side is smooth
    not_finite,         ///< the function or its gradient is infinite or NaN here
    not_deterministic,  ///< the same inputs give different values
    limit,              ///< the limit on evaluations or time was reached
    bounds,             ///< x has no room to move within its bounds
    undeclared_error,   ///< off by little everywhere: wrong, or right for what f approximates
};

/// "pass", "inconclusive", "fail".
std::string_view to_string(Verdict verdict);
/// The reason in words, for reports.
std::string_view to_string(Reason reason);

/// The result of differences for one claimed slope.
struct Judgement {
    Verdict verdict = Verdict::pass;  ///< on this slope
    Reason reason = Reason::none;     ///< why it is inconclusive
    bool subgradient = false;         ///< x is on a kink, and the claim is between the two slopes
    bool constant = false;            ///< f does not move at all near x, and the claim is not 0
    double numeric = 0;               ///< estimated slope; on a kink the nearer of the two
    double error = 0;                 ///< of `numeric`, estimated
    double tolerance = 0;             ///< largest allowed |claim - numeric|
    double step = 0;                  ///< largest h used for `numeric`
    double noise = 0;                 ///< uncertainty of one value of <weights, f>
    /// How far a claim that passes may still be off, relative to the entry's own size: tolerance
    /// and error together. For a direction: relative to the contribution of an entry of the usual
    /// size.
    double resolution = 0;
    double above = 0;             ///< <weights, f(step)>
    double below = 0;             ///< <weights, f(-step)>
    bool doubted = false;         ///< some step spoke against the claim
    bool below_rounding = false;  ///< f depends on what moves by less than it rounds
};

/// The common mistakes in gradients, by their appearance.
enum class Mistake {
    unknown,       ///< none of these
    not_finite,    ///< infinite or NaN
    zero,          ///< nothing arrives
    dropped,       ///< a value used twice by one op: one use contributes nothing
    sign,          ///< times -1
    factor,        ///< times a constant
    permuted,      ///< axes exchanged
    missing_sum,   ///< a broadcast operand's gradient taken from one place, not summed
    doubled_sum,   ///< the same, summed once too often
    flipped,       ///< reversed along an axis
    shifted,       ///< moved by one element or more, cyclically or with zeros moved in
    samples,       ///< the contribution of only the last or first sample, or of all others
    rows,          ///< some rows, or each, times a factor
    conjugate,     ///< the second number of every pair with the wrong sign
    stale,         ///< another operand's, or an earlier call's
    chain,         ///< the op's own factor missing, or applied twice
    detached,      ///< a path from input to output that the tape does not see
    missing_term,  ///< a mean or sum along an axis is not subtracted
    partial,       ///< right except for some elements
    overwrites,    ///< the rule changes its incoming gradient, or other memory of its caller
    extra_term,    ///< a mean or sum along an axis is subtracted that does not belong there
    held,          ///< an inner number that depends on x is taken for a constant
    convention,    ///< right for contiguous tensors that are all needed, and not for others
    mixed,         ///< elements that do not depend on one another get each other's gradients
    formula,       ///< right in structure, wrong in each element's, output's or step's own factor
    wrong_sum,     ///< off by the term of one number in each row: its sum, maximum, norm
    symmetry,      ///< not averaged with its transpose, where f uses the symmetric part
    unmasked,      ///< contributions of outputs that f does not make of these elements
    misplaced,     ///< right contributions at other elements
};

/// The mistake in words, for reports.
std::string_view to_string(Mistake mistake);

/// The probable mistake behind a wrong gradient.
struct Cause {
    Mistake mistake = Mistake::unknown;  ///< kind of mistake
    std::string evidence = {};  ///< "claimed = 0.5 * numeric, to 3e-10 of it; 1/2 = 1/sqrt(4)"
    std::string hint = {};      ///< what to check, in words
};

/// The storage format of a plain function's numbers.
enum class Format {
    f64,   ///< 64 bits, IEEE binary64
    f32,   ///< 32 bits, IEEE binary32
    bf16,  ///< 16 bits, the upper half of an f32
    f16    ///< 16 bits, IEEE binary16
};

/// "f64", "f32", "bf16", "f16".
std::string_view to_string(Format format);

/// The nearest number of the format, ties to even; infinity beyond its largest.
double rounded(Format format, double x);

/// The distance from 1 to the next number.
double epsilon(Format format);
/// The smallest number above 0.
double smallest(Format format);

/// The range of a number.
struct Bounds {
    double low = -std::numeric_limits<double>::infinity();  ///< smallest value allowed
    double high = std::numeric_limits<double>::infinity();  ///< largest value allowed
};

/// How small an error must be to go undetected.
struct GradcheckLimits {
    /// Relative to an entry's own size: if larger errors than this may go undetected, the verdict
    /// is inconclusive. The resolution of a judgement is what may go undetected below it.
    double resolution = 1e-3;
    /// The format of f's numbers. Formats below f64 have so few numbers that slopes are fitted to
    /// many values.
    Format format = Format::f64;
    /// The factor by which an error may exceed its estimate.
    double safety = 6;
    /// A claim that agrees with the differences to this part of itself is right: how opaque
    /// functions and their gradients round is not known.
    double agreement = 0;
    /// A claim that is off by less than this part of the whole gradient, nearly everywhere and in
    /// no pattern, is inconclusive: it may be the gradient of what f approximates. 0 for a tape,
    /// whose ops define what they compute, and if f's noise is declared.
    double approximation = 0;
    /// Whether an entry may pass that is lost in the error of the differences, next to larger ones.
    /// On a tape each op can be checked by itself; for a plain function there is no other evidence.
    bool lost_may_pass = true;
    /// The part of the scale by which an exact oracle may differ: it rounds internally as well,
    /// invisibly.
    double exact = 1e-10;
    /// The limits on evaluations of f and on seconds. Anything not examined by then is
    /// inconclusive. A call of f that takes longer is not interrupted.
    std::int64_t evaluations = std::numeric_limits<std::int64_t>::max();
    double seconds = std::numeric_limits<double>::infinity();  ///< seconds for everything together
};

}  // namespace tapestry
