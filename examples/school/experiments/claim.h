// A claim: one sentence, one number that decides it, and the rule, written before anything runs. An
// experiment with four results makes four claims. The number is an interval: the mean over the
// seeds, and the 95% confidence interval of the true mean. Of many claims judged at 95% some hold
// by chance, so verdicts are also corrected for the number of claims. Read next: design.h, what
// makes a number fair; experiment.h, where numbers come from.
#pragma once

#include <tapestry/examples/school/experiments/design.h>
#include <tapestry/nn/metrics/interval.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tapestry::experiments {

/// The library's interval (nn/metrics/interval.h) with the values of which it is.
struct Interval : tapestry::Interval {
    /// In the order of the seeds; none for a share and for a number that is computed or was read.
    std::vector<double> values = {};
};

/// Its functions, under shorter names.
using tapestry::differences;
using tapestry::ratios;
inline Interval student(const std::vector<double>& values) {
    return {student_interval(values), values};
}
inline Interval share(std::int64_t hits, std::int64_t cases) {
    return {share_interval(hits, cases)};
}

/// A number that does not depend on seeds.
Interval exactly(double value);

/// A number that was not measured, for example in a quick run; no rule holds or is broken.
Interval unmeasured();

/// The range of numbers for which a claim is true: above, below, or between bounds.
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

/// `holds` if the whole interval satisfies the rule, `does not hold` if none of it does; otherwise
/// these seeds have shown neither. Values that are the same must be six at least: fewer would be
/// on one side of the rule's bound by chance too often (p_value()).
Verdict judge(const Rule& rule, const Interval& measured);

/// Whether several values are the same, up to rounding: nothing is then known of their spread.
bool is_same_in_all(const Interval& measured);

/// The probability of a measurement at least as far from the rule's bounds, were the true number at
/// the nearest of them: two-sided, as the interval is, by Student's distribution or, for a share,
/// by the normal approximation that Wilson's interval inverts. Below 0.05 where judge() gives
/// `holds` or `does_not_hold`; 0 for a number computed exactly, 1 for a single value. Student's
/// distribution needs a spread: for n values that are the same it is that of the sign test,
/// 2^(1 - n), were the bound the median.
double p_value(const Rule& rule, const Interval& measured);

/// The number of values that would make the p-value smaller than `level`, if their mean and spread
/// were those of `measured`: how many seeds to run where these show nothing. 0 if the spread is not
/// known or more than a million are needed.
std::int64_t values_needed(const Rule& rule, const Interval& measured, double level = 0.05);

/// The probability that as many values of other seeds give the same verdict, as far as `measured`
/// shows: their mean differs from this one by Student's t times sqrt(2) standard errors, and their
/// interval is as wide. 1 for a number that does not depend on seeds or is the same in all. Source:
/// Goodman 1992, "A comment on replication, p-values and evidence".
double p_of_same_verdict(const Rule& rule, const Interval& measured);

/// A rule and the number to judge by it.
struct Judged {
    Rule rule;
    Interval measured;
    bool undecided = false;  ///< whether the design leaves it undecided (Report::undecided)

    Verdict verdict() const { return undecided ? Verdict::not_shown : judge(rule, measured); }
    /// p_of_same_verdict(); 1 if the design leaves it undecided.
    double again() const { return undecided ? 1 : p_of_same_verdict(rule, measured); }
    /// Whether Holm's correction counts it: its number depends on seeds, and differs between them.
    /// Values that are equal for these seeds say nothing of others.
    bool is_counted() const {
        return measured.count > 0 && !undecided && !is_same_in_all(measured);
    }
};

/// The verdicts on claims that are read together: as by judge(), but `not_shown` where Holm's
/// correction makes the p-value at least 0.05. The probability that any of these verdicts is wrong
/// by chance is then below 5%, however many there are. Numbers that do not differ between seeds are
/// not counted. Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
std::vector<Verdict> judge_together(const std::vector<Judged>& claims);

struct Claim {
    std::string name;      ///< short, for tests and docs/claims.md: "gradient_at_q"
    std::string sentence;  ///< the claim, as a sentence that may turn out false
    std::string number;  ///< the deciding number: "rms of dL/dq, undivided over divided, d_k = 64"
    Rule rule;
    Design design = {};  ///< required: run() refuses a claim without one
};

/// The claims, each with this design unless it has one.
std::vector<Claim> designed(const Design& design, std::vector<Claim> claims);

}  // namespace tapestry::experiments
