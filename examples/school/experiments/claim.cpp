// Rules as text, verdicts and their correction. Implements claim.h.
#include <tapestry/examples/school/experiments/claim.h>

#include <tapestry/core/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace tapestry::experiments {
namespace {

constexpr double kNormal = 1.959963984540054;  // 95% of a standard normal is within +- this

// P(|T| >= t) of Student's distribution with `freedom` degrees of freedom, t >= 0: the finite sums
// of Abramowitz and Stegun 26.7.3 and 26.7.4, with tan(theta) = t / sqrt(freedom).
double student_tails(double t, std::int64_t freedom) {
    const double theta = std::atan(t / std::sqrt(static_cast<double>(freedom)));
    const double cosine = std::cos(theta);
    const bool odd = freedom % 2 == 1;
    double sum = 0, term = odd ? cosine : 1;
    for (std::int64_t k = odd ? 1 : 0; k + 2 <= freedom; k += 2) {
        sum += term;
        term *= cosine * cosine * static_cast<double>(k + 1) / static_cast<double>(k + 2);
    }
    const double within =
        odd ? (theta + std::sin(theta) * sum) * 2 * std::numbers::inv_pi : std::sin(theta) * sum;
    return std::max(0.0, 1 - within);
}

// The probability of a measurement at least this far from `bound`, were that the true number.
double p_at(double bound, const Interval& i) {
    const double distance = std::abs(i.mean - bound);
    if (i.is_share) {
        if (bound <= 0 || bound >= 1)
            return distance > 0 ? 0 : 1;  // such a share has no exceptions
        const double deviation = std::sqrt(bound * (1 - bound) / static_cast<double>(i.count));
        return std::erfc(distance / deviation / std::numbers::sqrt2);
    }
    if (is_same_in_all(i)) {
        return distance > 0 ? std::exp2(1 - static_cast<double>(i.count)) : 1;
    }
    const auto freedom = static_cast<std::size_t>(i.count - 1);
    const double error = i.half_width() / student_quantile(freedom);
    return student_tails(distance / error, i.count - 1);
}

}  // namespace

Interval exactly(double value) { return {{value, value, value, 0}}; }

Interval unmeasured() {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    return {{std::nan(""), -kInfinite, kInfinite, 0}};
}

bool is_same_in_all(const Interval& i) {
    constexpr double kRounding = 1e-12;
    return i.count > 1 && !i.is_share && i.half_width() <= kRounding * std::abs(i.mean);
}

std::string text_of(const Rule& rule) {
    // Ten digits: 0.333333 obeys "below 0.3333333343", and would not obey "below 0.3333".
    if (std::isinf(rule.high)) return fmt::format("above {:.10g}", rule.low);
    if (std::isinf(rule.low)) return fmt::format("below {:.10g}", rule.high);
    return fmt::format("between {:.10g} and {:.10g}", rule.low, rule.high);
}

std::string text_of(Verdict verdict) {
    if (verdict == Verdict::holds) return "holds";
    return verdict == Verdict::does_not_hold ? "does not hold" : "not shown";
}

Verdict judge(const Rule& rule, const Interval& measured) {
    if (is_same_in_all(measured) && p_value(rule, measured) >= 0.05) return Verdict::not_shown;
    if (measured.low > rule.low && measured.high < rule.high) return Verdict::holds;
    if (measured.high <= rule.low || measured.low >= rule.high) return Verdict::does_not_hold;
    return Verdict::not_shown;
}

double p_value(const Rule& rule, const Interval& measured) {
    if (!std::isfinite(measured.half_width()) || std::isnan(measured.mean)) return 1;
    if (measured.count == 0) return judge(rule, measured) == Verdict::not_shown ? 1 : 0;
    // A number outside the rule is compared with the bound that it breaks, one inside with both.
    if (measured.mean <= rule.low) return p_at(rule.low, measured);
    if (measured.mean >= rule.high) return p_at(rule.high, measured);
    double p = 0;
    for (const double bound : {rule.low, rule.high}) {
        if (std::isfinite(bound)) p = std::max(p, p_at(bound, measured));
    }
    return p;
}

std::int64_t values_needed(const Rule& rule, const Interval& measured, double level) {
    constexpr std::int64_t kMost = 1'000'000;
    if (measured.count < 2 || !std::isfinite(measured.half_width())) return 0;
    const double error =
        measured.half_width() / student_quantile(static_cast<std::size_t>(measured.count - 1));
    const double deviation = error * std::sqrt(static_cast<double>(measured.count));
    const auto decides = [&](std::int64_t n) {
        Interval of_n = measured;
        of_n.count = n;
        const double half = student_quantile(static_cast<std::size_t>(n - 1)) * deviation /
                            std::sqrt(static_cast<double>(n));
        if (!of_n.is_share) of_n.low = of_n.mean - half, of_n.high = of_n.mean + half;
        return p_value(rule, of_n) < level;
    };
    if (!decides(kMost)) return 0;
    std::int64_t too_few = 1, enough = kMost;
    while (enough - too_few > 1) {
        const std::int64_t middle = (too_few + enough) / 2;
        (decides(middle) ? enough : too_few) = middle;
    }
    return enough;
}

double p_of_same_verdict(const Rule& rule, const Interval& measured) {
    const double half = measured.half_width();
    if (measured.count < 2 || !std::isfinite(half) || is_same_in_all(measured)) return 1;
    const std::int64_t freedom = measured.count - 1;
    const double quantile =
        measured.is_share ? kNormal : student_quantile(static_cast<std::size_t>(freedom));
    const double apart = std::numbers::sqrt2 * half / quantile;
    const auto is_below = [&](double bound) {  // the probability that the other mean is
        if (std::isinf(bound)) return bound > 0 ? 1.0 : 0.0;
        const double t = std::abs(bound - measured.mean) / apart;
        const double beyond =
            measured.is_share ? std::erfc(t / std::numbers::sqrt2) : student_tails(t, freedom);
        return bound < measured.mean ? beyond / 2 : 1 - beyond / 2;
    };
    const double holds = std::max(0.0, is_below(rule.high - half) - is_below(rule.low + half));
    const double does_not = is_below(rule.low - half) + 1 - is_below(rule.high + half);
    switch (judge(rule, measured)) {
        case Verdict::holds: return holds;
        case Verdict::does_not_hold: return does_not;
        case Verdict::not_shown: return 1 - holds - does_not;
    }
    return 1;
}

std::vector<Claim> designed(const Design& design, std::vector<Claim> claims) {
    for (Claim& claim : claims) {
        if (claim.design == Design{}) claim.design = design;
    }
    return claims;
}

std::vector<Verdict> judge_together(const std::vector<Judged>& claims) {
    std::vector<Verdict> verdicts;
    std::vector<std::pair<double, std::size_t>> drawn;  // p-values of claims, by their index
    for (const Judged& claim : claims) {
        if (claim.is_counted()) {
            drawn.emplace_back(p_value(claim.rule, claim.measured), verdicts.size());
        }
        verdicts.push_back(claim.verdict());
    }
    std::ranges::sort(drawn);
    bool rejected = true;  // from the first that is not, none is
    for (std::size_t i = 0; i < drawn.size(); ++i) {
        rejected = rejected && drawn[i].first * static_cast<double>(drawn.size() - i) < 0.05;
        if (!rejected) verdicts[drawn[i].second] = Verdict::not_shown;
    }
    return verdicts;
}

}  // namespace tapestry::experiments
