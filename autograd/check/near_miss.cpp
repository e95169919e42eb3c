#include <tapestry/autograd/check/near_miss.h>

#include <tapestry/autograd/check/limits.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tapestry::checker {
namespace {

// Relative to an entry: an author who stops an iteration as early as that knows it.
constexpr double kOfItself = 1e-2;
// Relative to an entry: no mistake has so small an effect.
constexpr double kTiny = 2e-7;

bool is_within(double share, double claimed, double numeric) {
    const double larger = std::max(std::abs(claimed), std::abs(numeric));
    return std::isfinite(larger) && std::abs(claimed - numeric) <= share * larger;
}

void leave_open(InputReport& report, const std::vector<NearMiss>& claims, const char* where) {
    double apart = 0;
    for (const NearMiss& claim : claims) apart = std::max(apart, claim.apart());
    report.note = fmt::format(
        "claim and differences are {:.1g} of the gradient apart, {}: the gradient is wrong by that "
        "much, or f stops that far from its exact value (an iteration, a badly conditioned "
        "system); declare its error as noise to find out",
        apart, where);
    report.verdict = Verdict::inconclusive;
    report.reason = Reason::undeclared_error;
    report.inconclusive = std::max(report.inconclusive + report.wrong, 1);
    report.unseen.push_back({report.worst.where, report.reason});
    report.wrong = 0;
    report.first_wrong = 0;
    report.worst.judgement.verdict = report.verdict;
    report.worst.judgement.reason = report.reason;
}

}  // namespace

bool NearMiss::Slope::is_off() const {
    constexpr double kClearly = 3;
    return std::abs(miss) > kClearly * error;
}

void NearMiss::note(double claimed, double uncertainty, const Judgement& judgement) {
    if (judgement.verdict == Verdict::inconclusive || judgement.subgradient) return;
    if (claimed == 0 && judgement.numeric == 0) return;
    slopes_.push_back({.numeric = judgement.numeric,
                       .miss = claimed - judgement.numeric,
                       .error = judgement.error + uncertainty,
                       .is_wrong = judgement.verdict == Verdict::fail});
}

double NearMiss::apart() const {
    double misses = 0, sizes = 0;
    for (const Slope& slope : slopes_) {
        misses = std::hypot(misses, slope.miss);
        sizes = std::hypot(sizes, slope.numeric);
    }
    return sizes > 0 ? misses / sizes : 0;
}

int NearMiss::off() const {
    return static_cast<int>(std::count_if(slopes_.begin(), slopes_.end(),
                                          [](const Slope& slope) { return slope.is_off(); }));
}

int NearMiss::telling() const {
    const double usual = apart();
    const auto tells = [usual](const Slope& slope) {
        return slope.is_off() || slope.error <= usual * std::abs(slope.numeric);
    };
    return static_cast<int>(std::count_if(slopes_.begin(), slopes_.end(), tells));
}

// A common factor of everything that is off is a pattern, which three numbers show; but no mistake
// changes a gradient by a millionth.
bool NearMiss::is_factor() const {
    constexpr double kLeast = 1e-6, kAlike = 1e-3;
    double along = 0, misses = 0, sizes = 0;
    for (const Slope& slope : slopes_) {
        if (!slope.is_off()) continue;
        along += slope.miss * slope.numeric;
        misses += slope.miss * slope.miss;
        sizes += slope.numeric * slope.numeric;
    }
    constexpr int kFewest = 3;
    if (off() < kFewest || !(sizes > 0)) return false;
    const double factor = along / sizes;
    return std::abs(factor) > kLeast && misses - factor * along <= kAlike * kAlike * misses;
}

bool NearMiss::is_near(double limit) const {
    const auto far = [](const Slope& slope) {
        return slope.is_wrong && !is_within(kOfItself, slope.numeric + slope.miss, slope.numeric);
    };
    return apart() <= limit && std::none_of(slopes_.begin(), slopes_.end(), far) && !is_factor();
}

bool NearMiss::is_tiny() const {
    return std::all_of(slopes_.begin(), slopes_.end(), [](const Slope& slope) {
        return !slope.is_wrong || is_within(kTiny, slope.numeric + slope.miss, slope.numeric);
    });
}

std::vector<NearMiss> some_misses(Subject& subject, std::size_t which, const Neighbourhood& around,
                                  const ClaimedGradient& claim, const SlopeReport& found,
                                  const Examination& examination, const HiddenNoise& hidden) {
    constexpr std::size_t kSome = 15;
    std::vector<NearMiss> misses(1);
    if (examination.limits.approximation == 0) return misses;
    if (!is_within(kOfItself, found.claimed, found.judgement.numeric)) return misses;
    std::vector<double> u(claim.gradient.size(), 0.0);
    const auto note = [&](std::size_t entry) {
        const auto slope = examine_entry(subject, which, entry, around, claim, examination, hidden);
        u[entry] = 1;
        misses[0].note(slope.claimed, claim_along(claim, u).uncertainty, slope.judgement);
        u[entry] = 0;
    };
    try {
        for (std::size_t k = 0; k < kSome; ++k) note((2 * k + 1) * u.size() / (2 * kSome));
    } catch (const Budget::Spent&) {  // those until then count
        misses[0].note(found.claimed, 0, found.judgement);
    }
    return misses;
}

void leave_open_if_near(InputReport& report, const std::vector<NearMiss>& claims,
                        const Examination& examination) {
    const bool declared = examination.noise > 0 || examination.relative_noise > 0;
    if (report.verdict != Verdict::fail || declared || examination.fixed) return;
    int telling = 0, off = 0;
    bool tiny = true;
    for (const NearMiss& claim : claims) {
        if (!claim.is_near(examination.limits.approximation)) return;
        telling += claim.telling();
        off += claim.off();
        tiny = tiny && claim.is_tiny();
    }
    if (off > 0 && 2 * off >= telling) {
        leave_open(report, claims, "nearly everywhere and in no pattern");
    } else if (off > 0 && tiny) {
        leave_open(report, claims, "in places, by less than 2e-7 of an entry");
    }
}

}  // namespace tapestry::checker
