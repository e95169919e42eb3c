// A claim: one sentence, one number that decides it, and the rule, written before anything runs. An
// experiment that has four things to say makes four claims. The number is an interval: what several
// seeds say of it, its mean, and where the true mean lies with 95 % confidence. Read next:
// experiment.h, where numbers come from.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tapestry::experiments {

struct Interval {
    double mean = 0;
    double low = 0, high = 0;  ///< equal to the mean where nothing is random
    std::int64_t count = 0;    ///< how many values it rests on; 0: computed exactly, without a draw

    double half_width() const { return (high - low) / 2; }
    bool operator==(const Interval&) const = default;
};

/// Student's interval: mean +- t s / sqrt(n) with the t of n - 1 degrees of freedom. Right if the
/// values are roughly normal. One value has an infinite interval, for it says nothing of its
/// spread. Throws ValueError for none.
Interval student(const std::vector<double>& values);

/// Wilson's interval for a share, of which Student's says too much when all cases agree: of 10
/// cases out of 10 it says 72 % at least. Throws ValueError unless 0 <= hits <= cases and cases >
/// 0.
Interval share(std::int64_t hits, std::int64_t cases);

/// A number that no seed changes.
Interval exactly(double value);

/// One that was not measured, as in a short form; no rule holds for it, and none is broken.
Interval unmeasured();

/// a_i - b_i and a_i / b_i: with the same seed on both sides, what the seeds have in common
/// cancels. Throws ValueError unless there are as many of each.
std::vector<double> differences(const std::vector<double>& a, const std::vector<double>& b);
std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b);

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
