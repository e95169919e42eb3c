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
// the rounding by a format of all outputs, and of those that take only a few values.
struct Sampled {
    Values at, values;
    double rounding = 0, coarse = 0;
    Values steps = {};  // at times h
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
Attempt fitted(const Sampled& sampled, const std::vector<Term>& terms, double h) {
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
        fits.push_back(fitted(one, terms, h));
    }
    return fits;
}

namespace {

// Whether the last of several fits was the less accurate one, by noise: it grows with smaller
// steps.
bool is_only_noise(const std::vector<Attempt>& fits) {
    if (fits.size() < 2) return false;
    const Attempt& last = fits.back();
    return last.error > 2 * fits[fits.size() - 2].error && 2 * last.noise > last.error;
}

}  // namespace

std::vector<Attempt> fitted_slopes(Line& line, const std::vector<double>& weights, Format format,
                                   const std::function<bool(const Attempt&)>& is_enough) {
    constexpr int kPairs = 64;
    std::vector<Attempt> fits;
    for (const int power : {-1, -3, -5, -8}) {
        const double h = std::ldexp(line.scale(), power);
        if (h > line.reach()) continue;
        if (const auto found = sampled(line, weights, h, format, kPairs)) {
            fits.push_back(fitted(*found, terms_at(found->at), h));
            if (is_enough && is_enough(fits.back())) return {fits.back()};
        }
        if (is_only_noise(fits)) break;
    }
    std::stable_sort(fits.begin(), fits.end(),
                     [](const Attempt& a, const Attempt& b) { return a.error < b.error; });
    return fits;
}

}  // namespace tapestry::checker
