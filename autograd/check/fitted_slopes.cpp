#include <tapestry/autograd/check/noise.h>

#include <tapestry/autograd/check/quotients.h>
#include <tapestry/autograd/check/values.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace tapestry::checker {
namespace {

constexpr int kTerms = 10;                 // 1, t, t^2, ...
constexpr std::size_t kFewestPlaces = 16;  // the least that tells anything of noise

// Values of <w, f> - <w, f(x)> next to x: at which multiples of h, in order, and their values; and
// the rounding by a format of all outputs, of those that take only a few values, and of x: the part
// of a slope by which it moves <w, f>, unless all steps lead to numbers of the format.
struct Sampled {
    Values at, values;
    double rounding = 0, coarse = 0;
    Values steps = {};  // at times h
    double of_x = 0;
};

// How far numbers of a format are apart at y.
double spacing(Format format, double y) {
    return std::max(epsilon(format) * std::abs(y), smallest(format));
}

void note_rounding(const std::vector<const Sample*>& samples, const Values& w, Format format,
                   Sampled& found) {
    if (format == Format::f64) return;
    constexpr std::size_t kFewValues = 8;
    Values all(w.size(), 0.0), few(w.size(), 0.0);
    for (std::size_t i = 0; i < w.size(); ++i) {
        Values seen;
        for (const Sample* sample : samples) {
            const double y = sample->values[i];
            all[i] = std::max(all[i], spacing(format, y));
            const bool is_new = std::find(seen.begin(), seen.end(), y) == seen.end();
            if (is_new && seen.size() < kFewValues) seen.push_back(y);
        }
        if (seen.size() < kFewValues) few[i] = all[i];
    }
    found.rounding = size_of(w, all);
    found.coarse = size_of(w, few);
}

// Outputs that take only a few values over all steps hide their slope, or show their rounding as
// one; and so do all outputs if much less is left over than rounding leaves: then x and f move from
// number to number in step.
double hidden_by_rounding(const Sampled& sampled, double noise) {
    constexpr double kUsual = 0.29, kMuchLess = 0.25;  // sqrt(1 / 12)
    const bool in_step = noise < kMuchLess * kUsual * sampled.rounding;
    return in_step ? sampled.rounding : sampled.coarse;
}

// At irregular distances: a function that moves in regular jumps would always be sampled at the
// same point of a jump otherwise. If x is a number of a narrow format, steps lead to other such
// numbers.
std::optional<Sampled> sampled(Line& line, const Values& w, double h, Format format, int pairs) {
    constexpr double kGolden = 0.6180339887498949;
    Values at;
    for (int j = 0; j < pairs; ++j) {
        const double place = (j + std::fmod(kGolden * j, 1)) / pairs;
        for (const double t : {h * place, -h * place}) at.push_back(line.nearest(t));
    }
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    if (at.size() < kFewestPlaces) return {};
    Sampled found;
    std::vector<const Sample*> samples;
    const Sample& base = line.at(0);
    for (const double t : at) {
        const Sample& there = line.at(t);
        if (there.branch != base.branch || !finite(w, there)) return {};
        samples.push_back(&there);
        found.at.push_back(t / h);
        found.steps.push_back(t);
        found.values.push_back(weighted_difference(w, there.values, base.values));
    }
    note_rounding(samples, w, format, found);
    if (!line.is_in_format() && format != Format::f64) found.of_x = epsilon(format) * line.scale();
    return found;
}

// A power of t, orthogonalised against the lower ones, and its slope at 0.
struct Term {
    Values values;
    double slope = 0;
};

std::vector<Term> terms_at(const Values& at) {
    std::vector<Term> terms;
    for (int k = 0; k < kTerms; ++k) {
        Term term{{}, k == 1 ? 1.0 : 0.0};
        for (const double s : at) term.values.push_back(std::pow(s, k));
        for (int again = 0; again < 2; ++again) {
            for (const Term& lower : terms) {
                const double share = dot(term.values, lower.values);
                for (std::size_t j = 0; j < at.size(); ++j) {
                    term.values[j] -= share * lower.values[j];
                }
                term.slope -= share * lower.slope;
            }
        }
        const double size = norm(term.values);
        for (double& value : term.values) value /= size;
        term.slope /= size;
        terms.push_back(std::move(term));
    }
    return terms;
}

// The number of independent values: neighbours that are off in the same direction count as one.
double independent(const Values& rest) {
    std::size_t changes = 1;
    for (std::size_t j = 0; j + 1 < rest.size(); ++j) changes += rest[j] * rest[j + 1] < 0 ? 1 : 0;
    return static_cast<double>(std::min(rest.size(), 2 * changes));
}

// Selects the number of terms with the smallest error: from noise, which grows with the number, and
// from the terms left out, represented by the next two, an even and an odd one.
Attempt smoothed(const Sampled& sampled, const std::vector<Term>& terms, double h) {
    constexpr double kLeast = 0.25;  // of the noise: the limit of averaging
    Attempt best;
    best.step = h;
    best.settled = best.moved = true;
    Values rest = sampled.values;
    const auto count = static_cast<double>(rest.size());
    double slope = 0, squares = 0;
    for (std::size_t k = 0; k + 2 < kTerms; ++k) {
        const Term& term = terms[k];
        const double share = dot(rest, term.values);
        for (std::size_t j = 0; j < rest.size(); ++j) rest[j] -= share * term.values[j];
        slope += share * term.slope;
        squares += term.slope * term.slope;
        if (k == 0) continue;
        const double noise = norm(rest) / std::sqrt(count - static_cast<double>(k) - 1);
        double left_out = 0;
        for (const std::size_t next : {k + 1, k + 2}) {
            left_out += std::abs(dot(rest, terms[next].values) * terms[next].slope);
        }
        const double averaged = std::sqrt(squares * count / independent(rest));
        const double by_noise = noise * std::max(kLeast, averaged);
        const double error = (by_noise + left_out) / h;
        if (!(error < best.error)) continue;
        best.value = slope / h;
        best.noise = by_noise / h;
        best.error = error;
        best.rounding = noise;
        best.hidden = hidden_by_rounding(sampled, noise) / h;
    }
    best.slopes = {best.value, best.value, best.value};
    return best;
}

// What of f's values the terms do not follow.
Values left_over(Values rest, const std::vector<Term>& terms) {
    for (const Term& term : terms) {
        const double share = dot(rest, term.values);
        for (std::size_t j = 0; j < rest.size(); ++j) rest[j] -= share * term.values[j];
    }
    return rest;
}

// Whether more is left over than the format rounds, everywhere or at one place: then f oscillates,
// or has a pole, kink or peak within the step.
bool has_structure(const Sampled& sampled, const std::vector<Term>& terms, double slope) {
    constexpr double kMuch = 0.75, kMuchOfOne = 1.5;  // uniform rounding: 0.29, up to 0.5
    const Values rest = left_over(sampled.values, terms);
    const double rounding = sampled.rounding + sampled.of_x * std::abs(slope);
    const auto count = static_cast<double>(rest.size());
    return norm(rest) > kMuch * rounding * std::sqrt(count - kTerms) ||
           largest(rest) > kMuchOfOne * rounding;
}

// Whether the values to both sides of x show clearly different slopes: a kink next to x, which
// rounding hides in all values together.
bool is_bent(const Sampled& sampled, double h) {
    constexpr double kClearly = 6;
    Attempt sides[2];
    for (const bool above : {false, true}) {
        Sampled side{{}, {}, sampled.rounding, sampled.coarse};
        for (std::size_t j = 0; j < sampled.at.size(); ++j) {
            if (above ? sampled.at[j] < 0 : sampled.at[j] > 0) continue;
            side.at.push_back(sampled.at[j]);
            side.values.push_back(sampled.values[j]);
        }
        if (side.at.size() < kFewestPlaces) return false;
        sides[above ? 1 : 0] = smoothed(side, terms_at(side.at), h);
    }
    return std::abs(sides[1].value - sides[0].value) >
           kClearly * (sides[0].error + sides[1].error) + sides[0].hidden + sides[1].hidden;
}

Attempt fitted(const Sampled& sampled, const std::vector<Term>& terms, double h) {
    Attempt fit = smoothed(sampled, terms, h);
    fit.is_rough =
        sampled.rounding > 0 && (has_structure(sampled, terms, fit.value) || is_bent(sampled, h));
    return fit;
}

}  // namespace

std::optional<Attempt> quickly_fitted_slope(Line& line, const std::vector<double>& weights,
                                            double h, Format format) {
    constexpr int kPairs = 12, kPairsInFormat = 24;
    if (h > line.reach()) return {};
    const int pairs = format == Format::f64 ? kPairs : kPairsInFormat;
    const auto found = sampled(line, weights, h, format, pairs);
    return found ? std::optional(fitted(*found, terms_at(found->at), h)) : std::nullopt;
}

std::vector<Attempt> fitted_slopes_of_outputs(Line& line, double h, Format format) {
    constexpr int kPairs = 24;
    const std::size_t outputs = line.at(0).values.size();
    const auto whole = h > line.reach()
                           ? std::nullopt
                           : sampled(line, Values(outputs, 1.0), h, Format::f64, kPairs);
    if (!whole) return {};
    const std::vector<Term> terms = terms_at(whole->at);
    std::vector<Attempt> fits;
    for (std::size_t i = 0; i < outputs; ++i) {
        Sampled one{whole->at, {}};
        const double base = line.at(0).values[i];
        for (const double t : whole->steps) {
            const double y = line.at(t).values[i];
            one.values.push_back(y - base);
            if (format != Format::f64) one.rounding = std::max(one.rounding, spacing(format, y));
        }
        fits.push_back(smoothed(one, terms, h));
    }
    return fits;
}

namespace {

double uncertainty(const Attempt& fit) { return fit.error + fit.hidden; }

// Whether the last of several fits was the less accurate one, by noise: it grows with smaller
// steps.
bool is_only_noise(const std::vector<Attempt>& fits) {
    if (fits.size() < 2) return false;
    const Attempt &last = fits.back(), &before = fits[fits.size() - 2];
    if (last.is_rough || before.is_rough) return false;
    const bool is_noise = 2 * last.noise > last.error || last.hidden > last.error;
    return is_noise && uncertainty(last) > 2 * uncertainty(before);
}

}  // namespace

std::vector<Attempt> fitted_slopes(Line& line, const std::vector<double>& weights, Format format,
                                   const std::function<bool(const Attempt&)>& is_enough) {
    constexpr int kPairs = 64;
    std::vector<Attempt> fits;
    for (const int power : {-1, -3, -5, -8, -11, -14}) {
        if (power < -8 && format == Format::f64) break;
        const double h = std::ldexp(line.scale(), power);
        // Along a direction x is rounded: smaller steps only repeat its neighbours.
        const bool is_rounded = format != Format::f64 && !line.is_in_format();
        if (is_rounded && h < kFewestPlaces * epsilon(format) * line.scale()) break;
        if (h > line.reach()) continue;
        if (const auto found = sampled(line, weights, h, format, kPairs)) {
            fits.push_back(fitted(*found, terms_at(found->at), h));
            if (is_enough && is_enough(fits.back())) return {fits.back()};
        }
        if (is_only_noise(fits)) break;
    }
    std::stable_sort(fits.begin(), fits.end(), [](const Attempt& a, const Attempt& b) {
        return a.is_rough != b.is_rough ? b.is_rough : uncertainty(a) < uncertainty(b);
    });
    return fits;
}

}  // namespace tapestry::checker
