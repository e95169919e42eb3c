// Checks a claimed slope against central differences whose error is known: no tolerance here was
// chosen by hand.
//
//     D(h) = (f(h) - f(-h)) / 2h = f'(0) + c h^2 + c' h^4 + ... +- noise / h
//
// Three steps h, h/2, h/4 are extrapolated (Richardson), which removes the powers of h one after
// the other; the last change of the value bounds the truncation error. `noise` is measured: how
// much f changes when its inputs change in their last bits. Both together are the error of the
// estimate, and the claim is right if it is within that error. docs/gradient-checking.md derives
// this.
//
// Sources: Richardson 1911; Ridders 1982, "Accurate computation of F'(x) and F'(x)F''(x)"; More and
// Wild 2011, "Estimating computational noise".
//
// Internal to autograd/check. Read next: quotients.h, which takes the steps; evidence.cpp, which
// interprets them.
#pragma once

#include <tapestry/autograd/check/quotients.h>
#include <tapestry/autograd/check/verdict.h>

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace tapestry::checker {

/// A claim about the slope of <weights, f>.
struct Claim {
    double slope = 0;
    double uncertainty = 0;  ///< how far it is from itself: asked again, scaled, bits changed
    double shared = 0;       ///< the same of the least certain of all claims of its kind
    double nothing = 0;  ///< the same, if what rounds are contributions: slopes times sizes of x
    /// Of an entry of a plain function: what its rounding in any claim explains.
    double explained = std::numeric_limits<double>::infinity();
    double scale = 0;         ///< the size of slopes next to which an error would matter
    double shared_scale = 0;  ///< the largest of all claims of its kind
    double noise = 0;         ///< error of values of <weights, f>, as declared
    double share = 0;         ///< along a direction: contribution of an entry of the usual size
    bool vanishes = false;    ///< all slopes of this kind are 0, except for rounding
    bool evened = false;      ///< every output has about the same weight times its size
    bool alone = false;       ///< its outputs round as large as they are, not as all usually do
    double sharp = 1e-6;      ///< the part of the scale that steps are tried to resolve
    bool by_class = false;    ///< along a direction of entries that contribute about the same
    double usual_step = 0;    ///< tried first because it decided a similar claim; 0: none
    bool is_lost = false;     ///< one of the same kind was undecided: only clear errors are sought
    std::shared_ptr<WeightedHere> here = {};  ///< of its weights, shared by all lines
    bool steady = false;  ///< last bits do not change it: it is a definite number
};

/// Which jumps of f count as its noise.
enum class Jumps {
    none,        ///< only noise at the smallest distance at which f moves
    everywhere,  ///< those of rounding, at every distance
    anywhere,    ///< an occasional one as well, which may explain a small difference
};

/// How far f moves its values by rounding that its inputs' last bits do not show (noise.h);
/// negative if f moves nowhere.
using HiddenNoise = std::function<double(Jumps jumps)>;

/// Judges `claim`. Throws only what f throws. `weights` has one number per output of f.
/// `one_number`: the line moves only one input. On a kink a gradient is then between the slopes to
/// both sides; if several inputs move, each may be on a different kink, and the result is
/// inconclusive. `hidden` is called before a claim is called wrong or undecided.
Judgement check_slope(Line& line, const std::vector<double>& weights, const Neighbourhood& around,
                      const Claim& claim, const GradcheckLimits& limits, bool one_number = true,
                      const HiddenNoise& hidden = {});

// ---- evidence (evidence.cpp) --------------------------------------------------------------------

/// Whether attempts at a slope speak for the claimed slope, against it, or neither. check_slope()
/// decides which attempts to make.
class Evidence {
public:
    /// All arguments except `claim` and `limits` must outlive it.
    Evidence(Quotients& quotients, const Claim& claim, const GradcheckLimits& limits);

    /// A pass, if this attempt allows it and no earlier one spoke against the claim.
    std::optional<Judgement> consider(const Attempt& attempt);

    /// Whether a considered attempt spoke against the claim.
    bool is_doubted() const { return doubted_; }
    /// Whether a considered attempt agrees with the claim, however coarsely.
    bool supports_claim() const;

    /// Whether plainly_refuted() could be true for this attempt and another.
    bool speaks_against(const Attempt& a) const;

    /// A failure, if either attempt is conclusive: a claim that is infinite or NaN is wrong where
    /// there is a slope.
    std::optional<Judgement> refutes_infinite(const Attempt& a, const Attempt& b) const;

    /// Whether two steps have settled on the same slope, which is at least a quarter as steep as
    /// the claim. Then no further steps are needed. (Too large a step makes slopes look flatter
    /// than they are.)
    bool plainly_refuted(const Attempt& a, const Attempt& b) const;

    /// On a kink: whether the claim is between the slopes to both sides; nullopt if these are too
    /// uncertain.
    std::optional<Judgement> between(const Attempt& left, const Attempt& right) const;

    /// A failure, if an attempt speaks clearly against the claim, no other contradicts it, and
    /// steps of another scale confirm it.
    std::optional<Judgement> refutation();

    /// A pass, if what spoke against the claim did not hold: by the most accurate attempt that
    /// speaks for it. `sharply`: only if it would show an error of a millionth of the gradient;
    /// otherwise as the limits allow, and only if no more accurate attempt speaks against it.
    std::optional<Judgement> agreement(bool sharply) const;

    /// The judgement from fits to many noisy values, the most accurate one first. In f64 the second
    /// must confirm a failure.
    Judgement by_fit(const std::vector<Attempt>& fits) const;

    /// Whether a fit speaks against the claim beyond the band of the noise.
    bool fit_is_clear(const Attempt& fit) const;

    /// The reason why the slope cannot be judged.
    Judgement undecided() const;

    Judgement judgement(const Attempt& attempt, Verdict verdict, Reason reason) const;

    /// For an f that is infinite or NaN at x.
    static Judgement no_number();

private:
    void note_size(const std::vector<double>& values);
    double tolerance(const Attempt& attempt) const;
    bool is_nothing(double slope) const;
    double unseen(double value) const;
    double size_beside(double value) const;
    double resolution(double allowed, const Attempt& attempt) const;
    bool sees_enough(double allowed, const Attempt& attempt, bool sharply) const;
    bool agrees(const Attempt& attempt, bool sharply) const;
    bool is_lost(const Attempt& attempt) const;
    bool counts(const Attempt& attempt) const;
    bool is_upheld(const Attempt& fit, const std::vector<Attempt>& fits) const;
    const Attempt* rough_agreement(const std::vector<Attempt>& fits) const;
    bool contradicted(const Attempt& attempt) const;
    bool confirms(const Attempt& other, const Attempt& attempt) const;
    bool confirmed(const Attempt& attempt);
    const Attempt* sharpest(bool beyond) const;
    const Attempt* strongest_against(bool beyond) const;

    Quotients& quotients_;
    Claim claim_;
    GradcheckLimits limits_;
    double natural_ = 0;
    double least_ = 0;      // the smallest number of a narrow format
    double invisible_ = 0;  // slopes that may be pure rounding for a function of this size
    bool doubted_ = false;  // an attempt spoke against the claim
    std::vector<Attempt> attempts_;
};

}  // namespace tapestry::checker
