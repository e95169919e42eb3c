// A claimed slope against central differences whose error is known: nothing here is a tolerance
// that somebody chose.
//
//     D(h) = (f(h) - f(-h)) / 2h = f'(0) + c h^2 + c' h^4 + ... +- noise / h
//
// Three steps h, h/2, h/4 are extrapolated (Richardson), which takes the powers of h away one after
// the other; how much that still moved the value is what truncation may amount to. `noise` is
// measured: how much f changes when its inputs change in their last bits. Both together are the
// error of the estimate, and the claim is right if it lies within it. docs/gradient-checking.md
// derives this.
//
// Sources: Richardson 1911; Ridders 1982, "Accurate computation of F'(x) and F'(x)F''(x)"; More and
// Wild 2011, "Estimating computational noise".
//
// Internal to autograd/check. Read next: quotients.h, which takes the steps; evidence.cpp,
// which says what they amount to.
#pragma once

#include <tapestry/autograd/check/quotients.h>
#include <tapestry/autograd/check/verdict.h>

#include <functional>
#include <optional>
#include <vector>

namespace tapestry::checker {

/// The slope of <weights, f> that is to be believed.
struct Claim {
    double slope = 0;
    double uncertainty = 0;  ///< by how much it changes with the last bits of the inputs
    double scale = 0;        ///< the size of slopes beside which an error would matter
    double noise = 0;        ///< by how much values of <weights, f> may be off, as declared
    double share = 0;        ///< along a direction: what an entry of the usual size contributes
    bool vanishes = false;   ///< all slopes of that kind are 0, but for rounding
    bool evened = false;     ///< every output has about the same weight times its size
};

/// How far f moves its values by rounding that its inputs' last bits do not show (noise.h).
/// `closely`: a small difference is to be explained, which a jump here and there may do.
using HiddenNoise = std::function<double(bool closely)>;

/// Throws nothing that f does not throw. `weights` has one number per output of f. `one_number`:
/// the line moves one input alone. On a kink a gradient is then between the slopes to both sides;
/// where several inputs move, each may be on a kink of its own, and nothing can be said. `hidden`
/// is asked before a claim is called wrong or undecided.
Judgement check_slope(Line& line, const std::vector<double>& weights, const Neighbourhood& around,
                      const Claim& claim, const GradcheckLimits& limits, bool one_number = true,
                      const HiddenNoise& hidden = {});

// ---- evidence (evidence.cpp) --------------------------------------------------------------------

/// What attempts at a slope say of the slope that was claimed: for it, against it, or nothing.
/// check_slope() decides what to attempt.
class Evidence {
public:
    /// All arguments but `claim` and `limits` must outlive it.
    Evidence(Quotients& quotients, const Claim& claim, const GradcheckLimits& limits);

    /// A pass, if this attempt allows it and none before it spoke against the claim.
    std::optional<Judgement> consider(const Attempt& attempt);

    /// Might plainly_refuted() say so of this attempt and another?
    bool speaks_against(const Attempt& a) const;

    /// A failure, if either attempt says anything at all: a claim that is infinite or NaN is wrong
    /// where there is a slope.
    std::optional<Judgement> refutes_infinite(const Attempt& a, const Attempt& b) const;

    /// Have two steps settled on the same slope, which is no less steep than what is claimed? Then
    /// there is no need to look further. (Too large a step makes slopes look flatter than they
    /// are.)
    bool plainly_refuted(const Attempt& a, const Attempt& b) const;

    /// On a kink: does the claim lie between the slopes to both sides? Nothing if they are too
    /// uncertain.
    std::optional<Judgement> between(const Attempt& left, const Attempt& right) const;

    /// A failure, if an attempt speaks clearly against the claim and no other contradicts it.
    std::optional<Judgement> refutation() const;

    /// A pass, if what spoke against the claim did not hold: by the sharpest that speaks for it.
    /// `sharply`: only if a millionth of the gradient would be seen; else, what the limits allow,
    /// and nothing sharper may speak against it.
    std::optional<Judgement> agreement(bool sharply) const;

    /// What a fit to many noisy values says.
    Judgement by_fit(const Attempt& fit) const;

    /// Why nothing can be said.
    Judgement undecided() const;

    Judgement judgement(const Attempt& attempt, Verdict verdict, Reason reason) const;

    /// f is infinite or NaN at x.
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
    bool contradicted(const Attempt& attempt) const;
    const Attempt* sharpest(bool beyond) const;
    const Attempt* strongest_against(bool beyond) const;

    Quotients& quotients_;
    Claim claim_;
    GradcheckLimits limits_;
    double natural_ = 0;
    double invisible_ = 0;  // slopes that the rounding of a function of this size may be
    bool doubted_ = false;  // an attempt spoke against the claim
    std::vector<Attempt> attempts_;
};

}  // namespace tapestry::checker
