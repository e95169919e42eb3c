#include <tapestry/autograd/check/difference.h>
#include <tapestry/autograd/check/extrapolate.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace tapestry {

const Sample& Line::at(double t) {
    const auto found = known_.find(t);
    return found != known_.end() ? found->second : known_.emplace(t, f_(t)).first->second;
}

namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

class Judge {
public:
    Judge(Line& line, const std::vector<double>& weights, const Surroundings& around,
          const Claim& claim, const Limits& limits, bool one_number)
        : line_(line),
          w_(weights),
          around_(around),
          claim_(claim),
          limits_(limits),
          one_number_(one_number) {
        note_size(around_.base.values);
        for (const auto& values : around_.elsewhere) note_size(values);
    }

    Judgement run() {
        if (!finite(w_, around_.base)) return no_number();
        const Attempt first = central(std::ldexp(line_.scale(), -7));
        if (const auto done = consider(first)) return *done;
        const Attempt second = central(std::ldexp(line_.scale(), -13));
        if (const auto done = consider(second)) return *done;
        if (!std::isfinite(claim_.slope) && (counts(first) || counts(second))) {
            return judgement(counts(first) ? first : second, Verdict::fail, Reason::none);
        }
        const bool at_corner = !met_kink_ && corner();
        if (!met_kink_ && !at_corner && plain_case(first, second)) {
            return judgement(first, Verdict::fail, Reason::none);
        }
        const bool too_small = first.obstacle == Reason::none && first.noise > 0.5 * first.error;
        const std::array<int, 5> down{-19, -25, -31, -37, -43};
        const std::array<int, 5> up{-1, 5, 11, 17, 23};
        if (const auto done = too_small ? try_steps(up) : try_steps(down)) return *done;
        if (const auto done = too_small ? try_steps(down) : try_steps(up)) return *done;
        if (met_kink_ || at_corner) {
            if (const auto done = one_sided()) return *done;
        }
        if (const auto done = conviction()) return *done;
        if (const auto done = agreement()) return *done;
        if (const auto done = try_steps(std::array<int, 6>{-10, -16, -22, -28, 2, 8})) return *done;
        if (const auto done = try_steps(std::array<int, 2>{14, 20})) return *done;
        if (const auto done = agreement()) return *done;
        return undecided();
    }

    std::vector<CurvePoint> curve() {
        std::vector<CurvePoint> points;
        for (int power = -1; power >= -44; --power) {
            const double h = std::ldexp(line_.scale(), power);
            const Sample& above = line_.at(h);
            const Sample& below = line_.at(-h);
            if (!finite(w_, above) || !finite(w_, below)) continue;
            const double slope = weighted_difference(w_, above.values, below.values) / (2 * h);
            points.push_back({h, std::abs(slope - claim_.slope), noise(above, below) / h});
        }
        return points;
    }

private:
    // A slope of 0 has no size of its own: it is held against that of a function which changes by a
    // tenth of what it is worth when its input changes altogether.
    void note_size(const std::vector<double>& values) {
        const double usual = usual_size(w_, values) / line_.scale();
        if (!std::isfinite(usual)) return;
        invisible_ = std::max(invisible_, 0x1p-40 * usual);
        if (!claim_.vanishes && claim_.scale > 8 * kEps * usual) return;
        natural_ = std::max(natural_, 0.1 * usual);
        claim_.uncertainty = std::max(claim_.uncertainty, 8 * kEps * usual);
    }

    template <std::size_t N>
    std::optional<Judgement> try_steps(const std::array<int, N>& powers) {
        for (const int power : powers) {
            const Attempt attempt = central(std::ldexp(line_.scale(), power));
            if (const auto done = consider(attempt)) return done;
            const bool beyond = attempt.obstacle == Reason::not_finite;
            if (beyond && power > -7) break;  // larger steps leave the domain too
        }
        return {};
    }

    // By how much the slopes to both sides differ, if that matters here.
    double bend(int power) {
        const double h = std::ldexp(line_.scale(), power);
        const Sample &above = line_.at(h), &below = line_.at(-h);
        if (!finite(w_, above) || !finite(w_, below)) return 0;
        const double right = weighted_difference(w_, above.values, around_.base.values) / h;
        const double left = weighted_difference(w_, around_.base.values, below.values) / h;
        const double apart = std::abs((left + right) / 2 - claim_.slope);
        const double steepest = std::max({std::abs(left), std::abs(right), claim_.scale});
        const double least = std::max(0.1 * apart, 1e-3 * steepest) + 4 * noise(above, below) / h;
        return std::abs(right - left) > least ? std::abs(right - left) : 0;
    }

    // A kink that no op told of: a bend that is as sharp seen from closer by. (A curve
    // straightens.)
    bool corner() {
        const double far = bend(-13);
        const auto alike = [far](double near) { return near > 0.8 * far && near < 1.25 * far; };
        return far > 0 && alike(bend(-19)) && alike(bend(-25));
    }

    // Where both slopes are next to nothing beside what the function is worth, they may be rounding
    // on the way back that no shaking of bits brought to light.
    double unseen(double value) const {
        const bool nothing = std::max(claim_.scale, std::abs(value)) <= 64 * invisible_;
        return nothing ? limits_.safety * invisible_ : 0;
    }

    // Two steps that both settled on the same slope, which is no less steep than what is claimed:
    // no need to look further. (Too large a step makes slopes look flatter than they are.)
    bool plain_case(const Attempt& a, const Attempt& b) const {
        if (!counts(a) || !counts(b)) return false;
        const double apart = std::abs(a.value - claim_.slope);
        return apart > tolerance(a) + unseen(a.value) && apart > 1e-4 * claim_.scale &&
               std::abs(b.value - claim_.slope) > tolerance(b) &&
               std::abs(a.value - b.value) <= 1e-3 * apart &&
               4 * std::abs(a.value) >= std::abs(claim_.slope);
    }

    // How uncertain one evaluation of <w, f> is, as far as it concerns the outputs that move.
    double noise(const Sample& above, const Sample& below) const {
        const auto& base = around_.base.values;
        std::vector<bool> moves(base.size());
        bool any = false;
        for (std::size_t i = 0; i < base.size(); ++i) {
            moves[i] = above.values[i] != base[i] || below.values[i] != base[i];
            any = any || moves[i];
        }
        if (!any) moves.clear();
        // An output that does not move may still have done so by less than its last bit.
        double size = kEps * std::max(size_of(w_, base), size_of(w_, above.values));
        for (const auto& shaken : around_.shaken) {
            size = std::max(size, std::abs(weighted_difference(w_, shaken, base, moves)));
        }
        return size;
    }

    // Does any output that is asked for differ?
    bool moves(const Sample& above, const Sample& below) const {
        for (std::size_t i = 0; i < w_.size(); ++i) {
            if (w_[i] != 0 && above.values[i] != below.values[i]) return true;
        }
        return false;
    }

    Attempt central(double h) {
        Attempt attempt;
        attempt.step = h;
        auto& slopes = attempt.slopes;
        double one = 0;
        for (int i = 0; i < kLevels; ++i) {
            const double t = std::ldexp(h, -i);
            const Sample& above = line_.at(t);
            const Sample& below = line_.at(-t);
            if (above.branch != around_.base.branch || below.branch != around_.base.branch) {
                met_kink_ = true;
                attempt.obstacle = Reason::kink;
                return attempt;
            }
            if (!finite(w_, above) || !finite(w_, below)) {
                attempt.obstacle = Reason::not_finite;
                return attempt;
            }
            slopes[static_cast<std::size_t>(i)] =
                weighted_difference(w_, above.values, below.values) / (2 * t);
            one = std::max(one, noise(above, below));
            attempt.moved = attempt.moved || moves(above, below);
        }
        attempt.rounding = one;
        extrapolate({one / h, 2 * one / h, 4 * one / h}, 4, attempt);
        return attempt;
    }

    double tolerance(const Attempt& attempt) const {
        return limits_.safety * (attempt.error + claim_.uncertainty);
    }

    bool sees_enough(double allowed, double value) const {
        return allowed <= limits_.resolution * std::max({claim_.scale, std::abs(value), natural_});
    }

    Judgement judgement(const Attempt& attempt, Verdict verdict, Reason reason) const {
        Judgement j{.verdict = verdict, .reason = reason};
        j.numeric = attempt.value;
        j.error = attempt.error;
        j.tolerance = tolerance(attempt);
        j.step = attempt.step;
        j.above = weighted(w_, line_.at(attempt.step).values);
        j.below = weighted(w_, line_.at(-attempt.step).values);
        return j;
    }

    bool agrees(const Attempt& attempt) const {
        if (attempt.obstacle != Reason::none || !attempt.settled) return false;
        const double allowed = tolerance(attempt);
        return std::abs(attempt.value - claim_.slope) <= allowed &&
               sees_enough(allowed, attempt.value);
    }

    // A pass, if this attempt allows it and none before it spoke against the claim.
    std::optional<Judgement> consider(const Attempt& attempt) {
        attempts_.push_back(attempt);
        if (attempt.obstacle != Reason::none || !attempt.settled) return {};
        doubted_ = doubted_ || std::abs(attempt.value - claim_.slope) > tolerance(attempt);
        if (doubted_ || !agrees(attempt)) return {};
        return judgement(attempt, Verdict::pass, Reason::none);
    }

    // What spoke against the claim did not hold: the sharpest that speaks for it.
    std::optional<Judgement> agreement() const {
        const Attempt* best = nullptr;
        for (const Attempt& attempt : attempts_) {
            if (!agrees(attempt)) continue;
            if (best == nullptr || attempt.error < best->error) best = &attempt;
        }
        if (best == nullptr) return {};
        return judgement(*best, Verdict::pass, Reason::none);
    }

    // What an attempt says counts if its differences settled, and if it had a chance to see a
    // slope. A step beyond x's own size may reach where the function is flat; a small one may drown
    // in rounding on the way that leaves no trace in the result: both show a slope of 0.
    bool counts(const Attempt& attempt) const {
        if (attempt.obstacle != Reason::none || !attempt.settled) return false;
        if (std::abs(attempt.value) > tolerance(attempt)) return true;
        if (attempt.step > line_.scale()) return false;
        const auto coarser_moves = [&](const Attempt& other) {
            return other.step > attempt.step && other.moved;
        };
        return attempt.moved || std::none_of(attempts_.begin(), attempts_.end(), coarser_moves);
    }

    // Of the attempts up to x's own size or beyond it, the one with the smallest error.
    const Attempt* sharpest(bool beyond) const {
        const Attempt* best = nullptr;
        for (const Attempt& attempt : attempts_) {
            if (!counts(attempt) || (attempt.step > line_.scale()) != beyond) continue;
            if (best == nullptr || attempt.error < best->error) best = &attempt;
        }
        return best;
    }

    // Do the slopes of smaller steps take the claim's side, or grow without end, by more than
    // rounding explains? Then the function swings or saturates within the step, or rounds in ways
    // that do not show.
    bool contradicted(const Attempt& attempt) const {
        const double apart = std::abs(attempt.value - claim_.slope);
        const double steep = 10 * std::max(std::abs(attempt.value), tolerance(attempt));
        return std::any_of(attempts_.begin(), attempts_.end(), [&](const Attempt& other) {
            if (other.obstacle != Reason::none || other.step >= attempt.step) return false;
            for (int i = 0; i < kLevels; ++i) {
                const double noise = limits_.safety * other.rounding / std::ldexp(other.step, -i);
                const double slope = other.slopes[static_cast<std::size_t>(i)];
                const double miss = std::abs(slope - attempt.value);
                if (!(miss <= tolerance(attempt) + 0.1 * apart + noise)) return true;
                if (!(std::abs(slope) <= steep + noise)) return true;
            }
            return false;
        });
    }

    // The steps beyond x's own size or up to it: the largest whose slope speaks clearly against the
    // claim and is not contradicted, if no other that is as sharp speaks for the claim. (Small
    // steps drown in rounding that leaves no trace, large ones are contradicted by smaller ones.)
    const Attempt* witness(bool beyond) const {
        const Attempt* against = nullptr;
        for (const Attempt& attempt : attempts_) {
            if (!counts(attempt) || (attempt.step > line_.scale()) != beyond) continue;
            const double apart = std::abs(attempt.value - claim_.slope);
            if (apart <= 4 * tolerance(attempt) + unseen(attempt.value)) continue;
            const bool larger = against == nullptr || attempt.step > against->step;
            if (larger && !contradicted(attempt)) against = &attempt;
        }
        if (against == nullptr) return nullptr;
        const double apart = std::abs(against->value - claim_.slope);
        const bool opposed =
            std::any_of(attempts_.begin(), attempts_.end(), [&](const Attempt& other) {
                return other.step > against->step && counts(other) &&
                       tolerance(other) < apart / 8 &&
                       std::abs(other.value - claim_.slope) < apart / 8;
            });
        return opposed ? nullptr : against;
    }

    std::optional<Judgement> conviction() const {
        const Attempt* against = witness(false);
        if (against == nullptr && sharpest(false) == nullptr) against = witness(true);
        if (against == nullptr) return {};
        return judgement(*against, Verdict::fail, Reason::none);
    }

    static Judgement no_number() {
        Judgement j{.verdict = Verdict::inconclusive, .reason = Reason::not_finite};
        j.numeric = std::numeric_limits<double>::quiet_NaN();
        return j;
    }

    Judgement undecided() {
        const Attempt* best = sharpest(false);
        if (best == nullptr) best = sharpest(true);
        if (best == nullptr) {
            const Attempt& first = attempts_.front();
            const bool none = first.obstacle == Reason::none;
            return judgement(first, Verdict::inconclusive,
                             none ? Reason::truncation : first.obstacle);
        }
        const bool rounding =
            limits_.safety * (best->noise + claim_.uncertainty) > 0.25 * tolerance(*best);
        return judgement(*best, Verdict::inconclusive,
                         rounding ? Reason::roundoff : Reason::truncation);
    }

    // The slope to one side (+1 or -1), from steps that all take the same branches.
    std::optional<Attempt> sideways(double side) {
        std::optional<Attempt> best;
        for (const int power : {-7, -13, -19, -25, -31, -1, 5, 11, 17}) {
            if (!met_kink_ && power > -7) break;  // no op told of branches: stay close
            const double h = std::ldexp(line_.scale(), power);
            Attempt attempt;
            attempt.step = h;
            auto& slopes = attempt.slopes;
            double one = 0;
            bool usable = true;
            const std::uint64_t branch = line_.at(side * h).branch;
            for (int i = 0; usable && i < kLevels; ++i) {
                const double t = std::ldexp(h, -i);
                const Sample& there = line_.at(side * t);
                usable = there.branch == branch && finite(w_, there);
                if (!usable) break;
                slopes[static_cast<std::size_t>(i)] =
                    side * weighted_difference(w_, there.values, around_.base.values) / t;
                one = std::max(one, 2 * noise(there, around_.base));
            }
            if (!usable) continue;
            extrapolate({one / h, 2 * one / h, 4 * one / h}, 2, attempt);
            if (attempt.settled && (!best || attempt.error < best->error)) best = attempt;
        }
        return best;
    }

    // At a kink the gradient may be anything between the slopes to both sides. Close to one, it is
    // the slope of the side that x itself is on.
    std::optional<Judgement> one_sided() {
        std::optional<Attempt> right = sideways(1);
        std::optional<Attempt> left = sideways(-1);
        const auto own_side = [this](const std::optional<Attempt>& side, double sign) {
            return side && line_.at(sign * side->step).branch == around_.base.branch;
        };
        const bool on_right = own_side(right, 1), on_left = own_side(left, -1);
        if (on_right && !on_left) left = right;
        if (on_left && !on_right) right = left;
        if (!left || !right) return {};
        if (!on_left && !on_right && !one_number_) {
            return judgement(*left, Verdict::inconclusive, Reason::kink);
        }
        const double allowed = std::max(tolerance(*left), tolerance(*right));
        if (!sees_enough(allowed, std::max(std::abs(left->value), std::abs(right->value)))) {
            return {};
        }
        const double low = std::min(left->value, right->value) - allowed;
        const double high = std::max(left->value, right->value) + allowed;
        const bool inside = claim_.slope >= low && claim_.slope <= high;
        const bool nearer_left =
            std::abs(claim_.slope - left->value) < std::abs(claim_.slope - right->value);
        Judgement j = judgement(nearer_left ? *left : *right,
                                inside ? Verdict::pass : Verdict::fail, Reason::none);
        j.tolerance = allowed;
        j.subgradient = inside && std::abs(left->value - right->value) > allowed;
        return j;
    }

    Line& line_;
    const std::vector<double>& w_;
    const Surroundings& around_;
    Claim claim_;
    Limits limits_;
    bool one_number_;
    double natural_ = 0;
    double invisible_ = 0;  // slopes that the rounding of a function of this size may be
    bool met_kink_ = false;
    bool doubted_ = false;  // an attempt spoke against the claim
    std::vector<Attempt> attempts_;
};

}  // namespace

Judgement judge(Line& line, const std::vector<double>& weights, const Surroundings& around,
                const Claim& claim, const Limits& limits, bool one_number) {
    return Judge(line, weights, around, claim, limits, one_number).run();
}

std::vector<CurvePoint> error_curve(Line& line, const std::vector<double>& weights,
                                    const Surroundings& around, const Claim& claim) {
    return Judge(line, weights, around, claim, {}, true).curve();
}

}  // namespace tapestry
