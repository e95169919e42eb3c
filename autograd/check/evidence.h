// What attempts at a slope say of the slope that was claimed: for it, against it, or nothing.
// Internal to autograd/check. Read next: slope.cpp, which decides what to attempt.
#pragma once

#include <tapestry/autograd/check/quotients.h>
#include <tapestry/autograd/check/slope.h>

namespace tapestry::checker {

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
