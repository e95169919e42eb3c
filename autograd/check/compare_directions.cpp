// Random directions: of all entries together on a tape, of each class of sizes for a plain
// function.
#include <tapestry/autograd/check/compare.h>

#include <tapestry/autograd/check/below_rounding.h>
#include <tapestry/autograd/check/joint_directions.h>
#include <tapestry/autograd/check/near_miss.h>
#include <tapestry/autograd/check/noise_of_claims.h>
#include <tapestry/autograd/check/size_classes.h>
#include <tapestry/autograd/check/values.h>
#include <tapestry/autograd/check/wrong_entry.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace tapestry::checker {
namespace {

// Of entries that rounding hides, along which a clear error is sought: there is no pass to lose.
constexpr int kForLost = 3;
// Directions of all classes together are others than those of each.
constexpr std::uint64_t kOwnSeed = 50;

// One claim, or one class of its entries.
struct Part {
    std::size_t claim = 0;
    SizeClass entries = {};
    std::vector<double> shares = {};  ///< none: all entries, or there is nothing left to see
    std::optional<WrongEntrySearch> search = {};
    double resolution = 0;  ///< the worst that passed
    double step = 0;        ///< the one that decided the last direction
    double noise = 0;       ///< of one value, beyond its last bits
    bool is_lost = false;   ///< a direction was undecided
    bool is_seen = false;   ///< directions of all classes have settled it
};

class Directions {
public:
    Directions(Subject& subject, std::size_t which, const Neighbourhood& around,
               std::span<const ClaimedGradient> claims, int count, std::uint64_t seed,
               const Examination& examination, InputReport& report)
        : subject_(subject),
          which_(which),
          around_(around),
          claims_(claims),
          seed_(seed),
          examination_(examination),
          report_(report),
          noise_(subject, which, claims) {
        in_classes_ = !examination.limits.lost_may_pass && !examination.fixed;
        if (in_classes_) {
            take_classes(count);
            return;
        }
        for (std::size_t i = 0; i < claims.size(); ++i) {
            parts_.push_back({.claim = i, .search = search_in({})});
        }
    }

    std::size_t classes() const { return parts_.size(); }
    /// Those that directions of all classes together have not settled.
    std::size_t open_classes() const {
        return static_cast<std::size_t>(std::count_if(
            parts_.begin(), parts_.end(), [](const Part& part) { return !part.is_seen; }));
    }
    /// How many directions of all classes together have settled everything; 0: they have not.
    int settled_by() const { return settled_by_; }

    // Returns false if nothing more should be compared.
    bool compare(int k) {
        if (settled_by_ > 0) return false;
        const auto u = std::make_shared<const std::vector<double>>(
            subject_.direction(which_, seed_ + static_cast<std::uint64_t>(k)));
        std::optional<Line> whole;
        for (Part& part : parts_) {
            const int most = part.entries.count == 1 ? 1 : is_lost(part) ? kForLost : k + 1;
            if (part.is_seen || (in_classes_ && k >= most)) continue;
            if (!in_classes_) {
                if (!whole) whole = subject_.along(which_, u, 1);
                if (!compare(k, part, *u, *whole)) return false;
                continue;
            }
            *within_ = *u;
            multiply(*within_, part.shares);
            Line line = subject_.along(which_, within_, 1);
            if (!compare(k, part, *within_, line)) return false;
        }
        return true;
    }

    void state_classes() {
        if (parts_.size() < 2) return;
        for (const Part& part : parts_) {
            if (!in_classes_) continue;
            ClassReport one{.entries = static_cast<int>(part.entries.count),
                            .resolution = part.resolution};
            const auto& sizes = classes_[part.claim].sizes;
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                if (!part.entries.holds(sizes[i])) continue;
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

    // Directions of all classes together settle most right claims, and a few of one class most
    // of the rest.
    void take_classes(int count) {
        const auto u = subject_.direction(which_, seed_);
        for (const ClaimedGradient& claim : claims_) {
            classes_.push_back(entry_classes(claim, u));
            for (const SizeClass& one : classes_.back().classes) {
                parts_.push_back({.claim = classes_.size() - 1, .entries = one});
            }
        }
        const bool declared = examination_.noise > 0 || examination_.relative_noise > 0;
        if (!declared && !subject_.is_bounded(which_)) look_together(count, u);
        for (Part& part : parts_) {
            if (part.is_seen) continue;
            part.shares = shares_within(part.entries, classes_[part.claim].sizes);
            part.search.emplace(search_in(part.shares));
        }
    }

    void look_together(int count, const std::vector<double>& u) {
        JointDirections::Setting setting{subject_,     which_, around_,
                                         examination_, count,  seed_ + kOwnSeed};
        JointDirections joint(setting, claims_, classes_);
        const bool any_seen = joint.run();
        bool any_dull = false;
        for (std::size_t i = 0; i < claims_.size(); ++i) any_dull = any_dull || joint.is_dull(i);
        if (!any_seen && !any_dull) return;
        settled_by_ = joint.taken();
        std::size_t next = 0;
        for (std::size_t i = 0; i < claims_.size(); ++i) {
            const std::size_t from = next;
            SlopeReport shown = joint.slope(i);
            for (std::size_t k = 0; k < classes_[i].classes.size(); ++k) {
                Part& part = parts_[next++];
                const bool is_off = joint.is_off(i) && !joint.is_dull(i);
                if (is_off || (part.entries.most == 0 && grows(part, u))) continue;
                note_seen(joint.seen(i, k), part);
                if (part.is_seen) continue;
                setting.seed += kOwnSeed;
                JointDirections one(setting, claims_.subspan(i, 1), {&classes_[i], 1}, k);
                // Of several outputs, others than those of all classes may move.
                if (subject_.outputs() == 1) one.expect_rounding(0, joint.rounding(i));
                if (one.run()) note_seen(one.seen(0, k), part);
                if (part.is_seen && joint.is_off(i)) shown = one.slope(0);
                part.is_lost = !part.is_seen && one.is_lost();
                part.noise = one.rounding(0);
                settled_by_ = std::max(settled_by_, one.taken());
            }
            note_slopes(std::move(shown), i, {parts_.data() + from, next - from});
        }
        const bool all = std::all_of(parts_.begin(), parts_.end(),
                                     [](const Part& part) { return part.is_seen; });
        if (!all) settled_by_ = 0;
    }

    // Whether f depends on entries claimed 0, by less than it rounds near x. All of them move along
    // the first direction, and no other shows more.
    bool grows(const Part& part, const std::vector<double>& u) {
        *within_ = u;
        multiply(*within_, shares_within(part.entries, classes_[part.claim].sizes));
        Line line = subject_.along(which_, within_, 1);
        return grows_out_of_rounding(line, claims_[part.claim].weights, around_);
    }

    static void note_seen(const ClassSeen& seen, Part& part) {
        part.is_seen = seen.is_right;
        if (seen.is_right) part.resolution = seen.resolution;
    }

    // What directions of all classes show of a claim.
    void note_slopes(SlopeReport slope, std::size_t claim, std::span<const Part> parts) {
        bool any = false;
        for (const Part& part : parts) {
            any = any || part.is_seen;
            slope.judgement.resolution = std::max(slope.judgement.resolution, part.resolution);
        }
        if (any) add_slope(report_, std::move(slope), claims_[claim].evened);
    }

    Claim along(const Part& part, const std::vector<double>& u) const {
        const ClaimedGradient& claim = claims_[part.claim];
        Claim one = claim_along(claim, u);
        if (!in_classes_) return one;
        const SizeClass& entries = part.entries;
        const double root = std::sqrt(static_cast<double>(entries.count));
        one.share = entries.least;
        one.alone = true;
        // Directions of a class are alike: each starts from the results of earlier ones.
        one.noise = noise_of(part);
        one.by_class = true;
        one.usual_step = part.step;
        one.is_lost = is_lost(part);
        // As sharply as the limits ask: the report shows how far.
        if (entries.most > 0) one.sharp = 1;
        if (entries.most > 0) return one;
        // Entries claimed to be 0 are compared with the others.
        for (const Part& other : parts_) {
            if (other.claim == part.claim) one.scale = std::max(one.scale, other.entries.most);
        }
        one.uncertainty = std::max(one.uncertainty, kEps * one.scale * root);
        one.shared = claim.unseen;
        one.vanishes = one.scale == 0;
        return one;
    }

    bool compare(int k, Part& part, const std::vector<double>& u, Line& line) {
        const ClaimedGradient& claim = claims_[part.claim];
        Claim slope_of = along(part, u);
        SlopeReport slope{.where = where(k, part), .claimed = slope_of.slope};
        const bool in_class = in_classes_;
        // A pass does not depend on whether an earlier direction had to look for jumps.
        const HiddenNoise hidden = [&](Jumps jumps) {
            const double noise = noise_.of(part.claim, jumps);
            const bool steady = in_class && jumps == Jumps::none && noise >= 0;
            return steady ? noise_of(part) : noise;
        };
        auto entry = part.search->look(line, claim, slope_of, hidden);
        double apart = part.search->apart();
        if (!entry) {
            if (in_class) slope_of.noise = noise_of(part);
            slope.judgement =
                examine(line, claim.weights, around_, slope_of, examination_, false, hidden);
            // All entries move along the first direction, and no other shows more.
            if (k == 0) {
                leave_open_if_below_rounding(line, claim.weights, around_, slope_of, examination_,
                                             slope.judgement);
            }
            apart = std::abs(slope_of.slope - slope.judgement.numeric) / slope_of.scale;
            if (slope.judgement.verdict == Verdict::fail)
                entry = part.search->locate(claim, hidden);
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

    double noise_of(const Part& part) const {
        double noise = noise_.measured(part.claim);
        for (const Part& other : parts_) {
            const bool is_same = &other == &part || part.entries.most < other.entries.most;
            if (is_same && other.claim == part.claim) noise = std::max(noise, other.noise);
        }
        return noise;
    }

    // Entries smaller than those lost in rounding are lost as well.
    bool is_lost(const Part& part) const {
        return std::any_of(parts_.begin(), parts_.end(), [&part](const Part& other) {
            return other.is_lost && other.claim == part.claim &&
                   (&other == &part ||
                    (part.entries.most > 0 && part.entries.most < other.entries.most));
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
        if (in_classes_ && parts_.size() > 1) {
            words += fmt::format(" of {} entries", part.entries.count);
            if (part.entries.most == 0) words += " that are 0";
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
    bool in_classes_ = false;  // of sizes
    std::vector<EntryClasses> classes_ = {};
    std::vector<Part> parts_;
    int settled_by_ = 0;
    // A direction within one class, for one line at a time
    std::shared_ptr<std::vector<double>> within_ = std::make_shared<std::vector<double>>();
};

// Numbers without room between their bounds move along no direction.
void leave_open_without_room(Subject& subject, std::size_t which, std::uint64_t seed,
                             const ClaimedGradient& claim, InputReport& report) {
    if (!subject.is_bounded(which)) return;
    const std::vector<double> u = subject.direction(which, seed);
    const Shape& shape = subject.leaves()[which].second.shape();
    for (std::size_t i = 0; i < u.size(); ++i) {
        if (u[i] != 0) continue;
        SlopeReport slope{.where = "at " + index_text(shape, static_cast<std::int64_t>(i)),
                          .claimed = claim.gradient[i]};
        slope.judgement.verdict = Verdict::inconclusive;
        slope.judgement.reason = Reason::bounds;
        add_slope(report, std::move(slope), false);
    }
}

}  // namespace

void compare_directions(Subject& subject, std::size_t which, const Neighbourhood& around,
                        std::span<const ClaimedGradient> claims, int count, std::uint64_t seed,
                        const Examination& examination, InputReport& report) {
    Directions directions(subject, which, around, claims, count, seed, examination, report);
    if (const int few = directions.settled_by(); few > 0) {
        report.method = fmt::format("{} random direction{}", few, few == 1 ? "" : "s");
        if (directions.classes() > claims.size()) {
            report.method += fmt::format(" for {} classes of sizes", directions.classes());
        }
    } else if (directions.classes() > claims.size()) {
        const std::size_t open = directions.open_classes();
        report.method += fmt::format(
            " in each of {}{} classes of sizes", open,
            open < directions.classes() ? fmt::format(" of {}", directions.classes()) : "");
    }
    int k = 0;
    while (k < count && directions.compare(k)) ++k;
    leave_open_without_room(subject, which, seed, claims[0], report);
    if (report.verdict != Verdict::fail) directions.state_classes();
}

}  // namespace tapestry::checker
