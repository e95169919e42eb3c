// A claim: one sentence, one number that decides it, and the rule, written before anything runs. An
// experiment that has four things to say makes four claims. Read next: trial.h, where numbers come
// from.
#pragma once

#include <tapestry/examples/school/experiments/interval.h>

#include <limits>
#include <string>

namespace tapestry::experiments {

/// The numbers with which a claim is true: those above, below, or between.
struct Rule {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
};

inline Rule above(double low) { return {.low = low}; }
inline Rule below(double high) { return {.high = high}; }
inline Rule between(double low, double high) { return {low, high}; }

/// "above 10", "below 0.05", "between 0.9 and 1.1".
std::string text_of(const Rule& rule);

enum class Verdict { holds, does_not_hold, not_shown };

/// "holds", "does not hold", "not shown".
std::string text_of(Verdict verdict);

/// Holds if the whole interval obeys the rule, does not hold if all of it breaks the rule; where it
/// lies on both sides, so many seeds have not shown either.
Verdict judge(const Rule& rule, const Interval& measured);

struct Claim {
    std::string name;      ///< short, for tests and docs/claims.md: "gradient_at_q"
    std::string sentence;  ///< what is said, as a sentence that may turn out wrong
    std::string
        number;  ///< what decides, in words: "rms of dL/dq, undivided over divided, d_k = 64"
    Rule rule;
};

}  // namespace tapestry::experiments
