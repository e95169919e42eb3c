#include <tapestry/autograd/check/quotients.h>

#include <tapestry/autograd/check/values.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry::checker {

const Sample& Line::at(double t) {
    const auto found = known_.find(t);
    return found != known_.end() ? found->second : known_.emplace(t, f_(t)).first->second;
}

double Line::only_side() const {
    const double next = 0x1p-13 * scale_;
    if (reach() >= next) return 0;
    const double side = reach_.above > reach_.below ? 1 : -1;
    return reach(side) >= next ? side : 0;
}

void extrapolate(const Slopes& noise, double order, Attempt& attempt) {
    const Slopes& d = attempt.slopes;
    const double first = d[0] - d[1], second = d[1] - d[2];
    const auto better = [](double coarse, double fine, double factor) {
        return (factor * fine - coarse) / (factor - 1);
    };
    const auto noisier = [](double coarse, double fine, double factor) {
        return (factor * fine + coarse) / (factor - 1);
    };
    const double once_coarse = better(d[0], d[1], order);
    const double once = better(d[1], d[2], order);
    const double twice = better(once_coarse, once, order == 4 ? 16 : 4);
    const double noise_coarse = noisier(noise[0], noise[1], order);
    const double noise_once = noisier(noise[1], noise[2], order);
    const double noise_twice = noisier(noise_coarse, noise_once, order == 4 ? 16 : 4);
    const auto take = [&attempt](double value, double moved, double by_noise) {
        if (!(moved + by_noise < attempt.error)) return;
        attempt.value = value;
        attempt.noise = by_noise;
        attempt.error = moved + by_noise;
    };
    take(d[2], std::abs(second), noise[2]);
    take(d[0], std::abs(first) + std::abs(second), noise[0]);
    take(once, std::abs(once - once_coarse), noise_once);
    take(twice, std::max(std::abs(twice - once), std::abs(twice - once_coarse)), noise_twice);
    const double expected = order == 4 ? 0.5 : 0.75;  // 1/4 and 1/2 for small h
    attempt.settled =
        std::abs(second) <= expected * std::abs(first) + noise[0] + noise[1] + noise[2];
}

double weighted(const std::vector<double>& w, const std::vector<double>& a) { return dot(w, a); }

namespace {

// Squares that neither overflow nor underflow
bool is_safe(double squares) { return squares > 1e-280 && squares < 1e280; }

}  // namespace

double size_of(const std::vector<double>& w, const std::vector<double>& y) {
    const double squares = squares_along(w, y);
    if (is_safe(squares)) return std::sqrt(squares);
    std::vector<double> terms(w.size());
    for (std::size_t i = 0; i < w.size(); ++i) terms[i] = std::isfinite(w[i]) ? w[i] * y[i] : 0;
    return norm(terms);
}

double usual_size(const std::vector<double>& w, const std::vector<double>& y) {
    return norm(y) / std::sqrt(static_cast<double>(w.size())) * norm(w);
}

bool finite(const std::vector<double>& w, const Sample& sample) {
    return all_finite(w, sample.values);
}

// How much bits shaken change <w, f>, of the outputs that change between the two and x. Usually
// these are few, or almost all.
double Quotients::shake_of_changed(const Sample& above, const Sample& below,
                                   const Difference& difference) const {
    const auto& base = around_.base.values;
    if (difference.changed == changed_ && difference.which == which_changed_) return shake_;
    const bool most_change = 2 * difference.changed > base.size();
    std::vector<std::size_t> few;
    for (std::size_t i = 0; i < base.size(); ++i) {
        if (w_[i] == 0) continue;
        const bool changes = above.values[i] != base[i] || below.values[i] != base[i];
        if (changes != most_change) few.push_back(i);
    }
    double most = 0;
    for (std::size_t k = 0; k < around_.shaken.size(); ++k) {
        double sum = 0;
        for (const std::size_t i : few) sum += w_[i] * (around_.shaken[k][i] - base[i]);
        const double shake = std::abs(most_change ? here_->shakes[k] - sum : sum);
        // inf - inf, if one that does not change is infinite when shaken: all of them count.
        most = std::max(most, std::isnan(shake) ? std::abs(here_->shakes[k]) : shake);
    }
    changed_ = difference.changed;
    which_changed_ = difference.which;
    return shake_ = most;
}

double Quotients::weighted_change(const std::vector<double>& a,
                                  const std::vector<double>& b) const {
    if (weighted_.empty()) return weighted_difference(w_, a, b);
    double sum = 0;
    for (const std::size_t i : weighted_) sum += w_[i] * (a[i] - b[i]);
    return sum;
}

double Quotients::noise(const Sample& above, const Sample& below) const {
    return noise(above, below,
                 difference_of(w_, above.values, below.values, around_.base.values, weighted_));
}

// The uncertainty of one evaluation of <w, f>, from the outputs that move.
double Quotients::noise(const Sample& above, const Sample& below,
                        const Difference& difference) const {
    const auto& base = around_.base.values;
    if (!here_->is_known) {
        here_->size = size_of(w_, base);
        for (const auto& shaken : around_.shaken) {
            here_->shakes.push_back(weighted_change(shaken, base));
            here_->shake = std::max(here_->shake, std::abs(here_->shakes.back()));
        }
        here_->is_known = true;
    }
    // An output that does not move may still have moved by less than its last bit. Next to 0, the
    // last bit is not relative to the number any more.
    constexpr double kLeastBit = std::numeric_limits<double>::denorm_min();
    const double above_size =
        is_safe(difference.squares) ? std::sqrt(difference.squares) : size_of(w_, above.values);
    const double size = std::max({least_noise_, kLeastBit, kEps * here_->size, kEps * above_size});
    const std::size_t count = weighted_.empty() ? base.size() : weighted_.size();
    const bool all = difference.changed == 0 || difference.changed == count;
    return std::max(size, all ? here_->shake : shake_of_changed(above, below, difference));
}

// Whether any output with a nonzero weight differs.
bool Quotients::moves(const Sample& above, const Sample& below) const {
    for (std::size_t i = 0; i < w_.size(); ++i) {
        if (w_[i] != 0 && above.values[i] != below.values[i]) return true;
    }
    return false;
}

Attempt Quotients::central(double h) {
    Attempt attempt;
    attempt.step = h;
    if (h > line_.reach()) {
        attempt.obstacle = Reason::bounds;
        return attempt;
    }
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
        const Difference difference =
            difference_of(w_, above.values, below.values, around_.base.values, weighted_);
        if (!difference.is_finite) {
            attempt.obstacle = Reason::not_finite;
            return attempt;
        }
        slopes[static_cast<std::size_t>(i)] = difference.slope / (2 * t);
        one = std::max(one, noise(above, below, difference));
        attempt.moved = attempt.moved || difference.moved;
        attempt.bends = attempt.bends || (difference.changed > 0 && moves(above, around_.base));
    }
    attempt.rounding = one;
    extrapolate({one / h, 2 * one / h, 4 * one / h}, 4, attempt);
    if (attempt.settled && line_.is_even()) attempt.settled = goes_on_between(attempt);
    return attempt;
}

// Whether a step between those of the attempt finds about the same slope.
bool Quotients::goes_on_between(const Attempt& attempt) {
    constexpr double kBetween = 0.7236067977499790, kClearly = 1e-4, kTimesNoise = 16;
    const double t = kBetween * attempt.step;
    const Sample &above = line_.at(t), &below = line_.at(-t);
    const bool same = above.branch == around_.base.branch && below.branch == around_.base.branch;
    if (!same || !finite(w_, above) || !finite(w_, below)) return true;
    const double slope = weighted_difference(w_, above.values, below.values) / (2 * t);
    const auto& [coarse, middle, fine] = attempt.slopes;
    const double spread = std::abs(coarse - middle) + std::abs(middle - fine);
    const double noise = kTimesNoise * attempt.rounding / t;
    const double size = std::max(std::abs(slope), std::abs(middle));
    return std::abs(slope - middle) <= 2 * spread + noise + kClearly * size;
}

std::optional<Attempt> Quotients::one_sided_step(double side, double h) {
    if (h > line_.reach(side)) return {};
    Attempt attempt;
    attempt.step = h;
    double one = 0;
    const std::uint64_t branch = line_.at(side * h).branch;
    for (int i = 0; i < kLevels; ++i) {
        const double t = std::ldexp(h, -i);
        const Sample& there = line_.at(side * t);
        if (there.branch != branch || !finite(w_, there)) return {};
        attempt.slopes[static_cast<std::size_t>(i)] =
            side * weighted_difference(w_, there.values, around_.base.values) / t;
        attempt.moved = attempt.moved || moves(there, around_.base);
        one = std::max(one, 2 * noise(there, around_.base));
    }
    attempt.rounding = one / 2;
    extrapolate({one / h, 2 * one / h, 4 * one / h}, 2, attempt);
    return attempt;
}

std::optional<Attempt> Quotients::one_sided(double side) {
    std::vector<Attempt> settled;
    for (const int power : {-7, -13, -19, -25, -31, -1, 5, 11, 17}) {
        if (!met_kink_ && power > -7) break;  // no op reported branches: stay close
        const auto attempt = one_sided_step(side, std::ldexp(line_.scale(), power));
        if (attempt && attempt->settled) settled.push_back(*attempt);
    }
    if (settled.empty()) return {};
    const auto is_better = [](const Attempt& a, const Attempt& b) { return a.error < b.error; };
    Attempt best = *std::min_element(settled.begin(), settled.end(), is_better);
    best.confirmed = std::any_of(settled.begin(), settled.end(), [&best](const Attempt& other) {
        const double apart = std::abs(other.value - best.value);
        return other.step != best.step &&
               apart <= std::max(0.1 * std::abs(best.value), 6 * (other.error + best.error));
    });
    return best;
}

// The difference of the slopes to both sides, if it matters here; otherwise 0.
double Quotients::bend(int power, double slope, double scale) {
    const double h = std::ldexp(line_.scale(), power);
    const Sample &above = line_.at(h), &below = line_.at(-h);
    if (!finite(w_, above) || !finite(w_, below)) return 0;
    const double right = weighted_difference(w_, above.values, around_.base.values) / h;
    const double left = weighted_difference(w_, around_.base.values, below.values) / h;
    const double apart = std::abs((left + right) / 2 - slope);
    const double steepest = std::max({std::abs(left), std::abs(right), scale});
    const double least = std::max(0.1 * apart, 1e-3 * steepest) + 4 * noise(above, below) / h;
    return std::abs(right - left) > least ? std::abs(right - left) : 0;
}

bool Quotients::is_corner(double slope, double scale) {
    const double far = bend(-13, slope, scale);
    const auto alike = [far](double near) { return near > 0.8 * far && near < 1.25 * far; };
    return far > 0 && alike(bend(-19, slope, scale)) && alike(bend(-25, slope, scale));
}

bool Quotients::is_beside_corner(double slope, double scale) {
    const double far = bend(-13, slope, scale);
    for (const int power : {-31, -37, -43}) {
        const double h = std::ldexp(line_.scale(), power);
        if (noise(line_.at(h), line_.at(-h)) / h > 0.02 * far) return false;
        if (bend(power, slope, scale) < 0.8 * far) return true;
    }
    return false;
}

double Quotients::constant_step() {
    double constant = 0;
    for (const int power : {-19, -13, -7, -3, -1}) {
        const double h = std::ldexp(line_.scale(), power);
        if (h > line_.reach()) break;
        if (moves(line_.at(h), around_.base) || moves(line_.at(-h), around_.base)) break;
        constant = h;
    }
    return constant >= std::ldexp(line_.scale(), -7) ? constant : 0;
}

bool Quotients::is_on_spike(const Attempt& attempt) {
    constexpr double kTimesNoise = 16, kLeastPart = 1.0 / 3;
    const auto bend = [&](double h) {
        const Sample &above = line_.at(h), &below = line_.at(-h);
        return std::abs(weighted_difference(w_, above.values, around_.base.values) +
                        weighted_difference(w_, below.values, around_.base.values));
    };
    const double finest = bend(std::ldexp(attempt.step, 1 - kLevels));
    return finest > kTimesNoise * attempt.rounding && finest > kLeastPart * bend(attempt.step);
}

std::vector<CurvePoint> Quotients::curve(double slope) {
    std::vector<CurvePoint> points;
    for (int power = -1; power >= -44; --power) {
        const double h = std::ldexp(line_.scale(), power);
        const Sample& above = line_.at(h);
        const Sample& below = line_.at(-h);
        if (!finite(w_, above) || !finite(w_, below)) continue;
        const double quotient = weighted_difference(w_, above.values, below.values) / (2 * h);
        points.push_back({h, std::abs(quotient - slope), noise(above, below) / h});
    }
    return points;
}

}  // namespace tapestry::checker
