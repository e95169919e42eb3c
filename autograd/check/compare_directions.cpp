// Random directions: of all entries together on a tape, of each class of sizes for a plain
// function.
#include <tapestry/autograd/check/compare.h>

#include <tapestry/autograd/check/below_rounding.h>
#include <tapestry/autograd/check/near_miss.h>
#include <tapestry/autograd/check/noise_of_claims.h>
#include <tapestry/autograd/check/size_classes.h>
#include <tapestry/autograd/check/values.h>
#include <tapestry/autograd/check/wrong_entry.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

namespace tapestry::checker {
namespace {

// Of entries that rounding hides, along which a clear error is sought: there is no pass to lose.
constexpr int kForLost = 3;

// One claim, or one class of its entries.
struct Part {
    std::size_t claim = 0;
    EntryClass entries = {};  ///< no shares: all entries
    WrongEntrySearch search;
    double resolution = 0;  ///< the worst that passed
    double step = 0;        ///< the one that decided the last direction
    bool is_lost = false;   ///< a direction was undecided
};

class Directions {
public:
    Directions(Subject& subject, std::size_t which, const Neighbourhood& around,
               std::span<const ClaimedGradient> claims, std::uint64_t seed,
               const Examination& examination, InputReport& report)
        : subject_(subject),
          which_(which),
          around_(around),
          claims_(claims),
          seed_(seed),
          examination_(examination),
          report_(report),
          noise_(subject, which, claims) {
        const bool in_classes = !examination.limits.lost_may_pass && !examination.fixed;
        const auto u = subject.direction(which, seed);
        for (std::size_t i = 0; i < claims.size(); ++i) {
            if (!in_classes) {
                parts_.push_back({i, {}, search_in({})});
                continue;
            }
            for (EntryClass& one : entry_classes(claims[i], u)) {
                auto shares = one.shares;
                parts_.push_back({i, std::move(one), search_in(std::move(shares))});
            }
        }
    }

    std::size_t classes() const { return parts_.size(); }

    // Returns false if nothing more should be compared.
    bool compare(int k) {
        const auto u = std::make_shared<const std::vector<double>>(
            subject_.direction(which_, seed_ + static_cast<std::uint64_t>(k)));
        std::optional<Line> whole;
        for (Part& part : parts_) {
            if (k >= kForLost && is_lost(part)) continue;
            if (part.entries.shares.empty()) {
                if (!whole) whole = subject_.along(which_, u, 1);
                if (!compare(k, part, *u, *whole)) return false;
                continue;
            }
            *within_ = *u;
            multiply(*within_, part.entries.shares);
            Line line = subject_.along(which_, within_, 1);
            if (!compare(k, part, *within_, line)) return false;
        }
        return true;
    }

    void state_classes() {
        if (parts_.size() < 2) return;
        for (const Part& part : parts_) {
            if (part.entries.shares.empty()) continue;
            const SizeClass& entries = part.entries.entries;
            ClassReport one{.entries = static_cast<int>(entries.members.size()),
                            .resolution = part.resolution};
            for (const std::size_t i : entries.members) {
                const double size = std::abs(claims_[part.claim].gradient[i]);
                one.most = std::max(one.most, size);
                one.least = one.least > 0 ? std::min(one.least, size) : size;
            }
            if (claims_.size() > 1) one.of = claims_[part.claim].of;
            report_.classes.push_back(std::move(one));
        }
    }

private:
    WrongEntrySearch search_in(std::vector<double> shares) {
        return {subject_, which_, around_, examination_, report_, std::move(shares)};
    }

    Claim along(const Part& part, const std::vector<double>& u) const {
        const ClaimedGradient& claim = claims_[part.claim];
        Claim one = claim_along(claim, u);
        if (part.entries.shares.empty()) return one;
        const SizeClass& entries = part.entries.entries;
        const double root = std::sqrt(static_cast<double>(entries.members.size()));
        one.share = entries.least;
        one.alone = true;
        // Directions of a class are alike: each starts from what the earlier ones found.
        one.noise = noise_.measured(part.claim);
        one.by_class = true;
        one.usual_step = part.step;
        one.is_lost = is_lost(part);
        // As sharply as the limits ask: the report shows how far.
        if (entries.most > 0) one.sharp = 1;
        if (entries.most > 0) return one;
        // Entries claimed to be 0 are compared with the others.
        for (const Part& other : parts_) {
            if (other.claim == part.claim)
                one.scale = std::max(one.scale, other.entries.entries.most);
        }
        one.uncertainty = std::max(one.uncertainty, kEps * one.scale * root);
        one.vanishes = one.scale == 0;
        return one;
    }

    bool compare(int k, Part& part, const std::vector<double>& u, Line& line) {
        const ClaimedGradient& claim = claims_[part.claim];
        Claim slope_of = along(part, u);
        SlopeReport slope{.where = where(k, part), .claimed = slope_of.slope};
        const bool in_class = !part.entries.shares.empty();
        // A pass does not depend on whether an earlier direction had to look for jumps.
        const HiddenNoise hidden = [&](Jumps jumps) {
            const double noise = noise_.of(part.claim, jumps);
            const bool steady = in_class && jumps == Jumps::none && noise >= 0;
            return steady ? noise_.measured(part.claim) : noise;
        };
        auto entry = part.search.look(line, claim, slope_of, hidden);
        double apart = part.search.apart();
        if (!entry) {
            if (in_class) slope_of.noise = noise_.measured(part.claim);
            slope.judgement =
                examine(line, claim.weights, around_, slope_of, examination_, false, hidden);
            // All entries move along the first direction, and no other shows more.
            if (k == 0) {
                leave_open_if_below_rounding(line, claim.weights, around_, slope_of, examination_,
                                             slope.judgement);
            }
            apart = std::abs(slope_of.slope - slope.judgement.numeric) / slope_of.scale;
            if (slope.judgement.verdict == Verdict::fail) entry = part.search.locate(claim, hidden);
        }
        if (entry) slope = std::move(*entry);
        if (slope.judgement.reason == Reason::kink && u.size() <= kManyEntries) {
            compare_entries(subject_, which_, around_, claims_, examination_, report_);
            report_.method = fmt::format("every entry, {}: directions cross kinks", u.size());
            return false;
        }
        if (in_class) remember(part, slope.judgement);
        if (report_.note.empty()) {
            report_.note = kink_note(subject_, which_, u, slope.judgement);
        }
        if (slope.judgement.verdict == Verdict::pass) {
            part.resolution = std::max(part.resolution, slope.judgement.resolution);
        }
        add_slope(report_, std::move(slope), claim.evened);
        if (report_.verdict != Verdict::fail) return true;
        constexpr double kFar = 10;  // times the possible sum of random signs
        if (report_.one_factor || apart > kFar * examination_.limits.approximation) return false;
        const auto misses =
            some_misses(subject_, which_, around_, claim, report_.worst, examination_, hidden);
        leave_open_if_near(report_, misses, examination_);
        return false;
    }

    // Entries smaller than those lost in rounding are lost as well.
    bool is_lost(const Part& part) const {
        return std::any_of(parts_.begin(), parts_.end(), [&part](const Part& other) {
            return other.is_lost && other.claim == part.claim &&
                   (&other == &part || (part.entries.entries.most > 0 &&
                                        part.entries.entries.most < other.entries.entries.most));
        });
    }

    static void remember(Part& part, const Judgement& judgement) {
        if (judgement.doubted) return;
        part.step = judgement.step;
        part.is_lost = part.is_lost || judgement.reason == Reason::roundoff ||
                       judgement.reason == Reason::truncation;
    }

    std::string where(int k, const Part& part) const {
        std::string words = fmt::format("along random direction {}", k + 1);
        if (!part.entries.shares.empty() && parts_.size() > 1) {
            words += fmt::format(" of {} entries", part.entries.entries.members.size());
            if (part.entries.entries.most == 0) words += " that are 0";
        }
        if (claims_.size() > 1) words += ", " + claims_[part.claim].of;
        return words;
    }

    Subject& subject_;
    std::size_t which_;
    const Neighbourhood& around_;
    std::span<const ClaimedGradient> claims_;
    std::uint64_t seed_;
    const Examination& examination_;
    InputReport& report_;
    NoiseOfClaims noise_;
    std::vector<Part> parts_;
    // A direction within one class, for one line at a time
    std::shared_ptr<std::vector<double>> within_ = std::make_shared<std::vector<double>>();
};

}  // namespace

void compare_directions(Subject& subject, std::size_t which, const Neighbourhood& around,
                        std::span<const ClaimedGradient> claims, int count, std::uint64_t seed,
                        const Examination& examination, InputReport& report) {
    Directions directions(subject, which, around, claims, seed, examination, report);
    if (directions.classes() > claims.size()) {
        report.method += fmt::format(" in each of {} classes of sizes", directions.classes());
    }
    int k = 0;
    while (k < count && directions.compare(k)) ++k;
    if (report.verdict != Verdict::fail) directions.state_classes();
}

}  // namespace tapestry::checker
