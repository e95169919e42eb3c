// Rules in words, and what follows from an interval. Read claim.h first.
#include <tapestry/examples/school/experiments/claim.h>

#include <fmt/format.h>

#include <cmath>

namespace tapestry::experiments {

std::string text_of(const Rule& rule) {
    if (std::isinf(rule.high)) return fmt::format("above {:.4g}", rule.low);
    if (std::isinf(rule.low)) return fmt::format("below {:.4g}", rule.high);
    return fmt::format("between {:.4g} and {:.4g}", rule.low, rule.high);
}

std::string text_of(Verdict verdict) {
    if (verdict == Verdict::holds) return "holds";
    return verdict == Verdict::does_not_hold ? "does not hold" : "not shown";
}

Verdict judge(const Rule& rule, const Interval& measured) {
    if (measured.low > rule.low && measured.high < rule.high) return Verdict::holds;
    if (measured.high <= rule.low || measured.low >= rule.high) return Verdict::does_not_hold;
    return Verdict::not_shown;
}

}  // namespace tapestry::experiments
