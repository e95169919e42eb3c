#include <tapestry/tests/mutations/corpus.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

constexpr std::size_t kOutputsAlone = 64;

std::uint64_t seed_of(std::uint64_t number, std::uint64_t seed, std::uint64_t stream) {
    return (number * 2 + stream) * 0x9e3779b97f4a7c15U + seed * 0xbf58476d1ce4e5b9U;
}

double error_of(double claimed, double right, double floor) {
    const double apart = std::abs(claimed - right);
    return apart == 0 ? 0 : apart / std::max({std::abs(claimed), std::abs(right), floor});
}

// A checker that knew f's noise could determine every slope to one part in a thousand: extrapolated
// differences over `room` are off by about 100 noise / room, including a margin.
bool resolvable(const PlainCase& one) {
    constexpr double kMargin = 100, kResolution = 1e-3, kRounding = 2e-16;
    if (one.hidden) return false;
    const Values y = one.f(one.x);
    for (std::size_t k = 0; k < y.size(); ++k) {
        Values g(y.size(), 0.0);
        g[k] = 1;
        const double noise = one.noise + kRounding * std::abs(y[k]);
        for (const double slope : one.pullback(one.x, g)) {
            const double least = kMargin * noise / one.room;
            if (slope != 0 && std::abs(slope) * kResolution < least) return false;
        }
    }
    return true;
}

// Draws the template, half of the time in other units unless it is at the limits of the range.
PlainCase drawn(const Template& from, Draw& draw, std::string& title) {
    PlainCase one = from.draw(draw);
    title += from.name;
    const bool at_an_end = std::abs(std::log10(std::max(1e-300, std::abs(one.x[0])))) > 50 ||
                           std::abs(std::log10(std::max(1e-300, std::abs(one.f(one.x)[0])))) > 50;
    if (!at_an_end && draw.chance(0.5)) {
        const int s = static_cast<int>(draw.below(41)) - 20,
                  t = static_cast<int>(draw.below(41)) - 20;
        one = in_units(std::move(one), std::ldexp(1, s), std::ldexp(1, t));
        title += fmt::format(", x times 2^{}, f times 2^{}", s, t);
    }
    title += fmt::format(", n = {}", one.x.size());
    if (!one.note.empty()) title += "; " + one.note;
    return one;
}

// Functions whose slopes are visible, from which to make wrong gradients.
const std::vector<Template>& wrong_bases() {
    static const std::vector<Template> all = [] {
        std::vector<Template> bases = smooth_templates();
        for (const Template& hard : hard_templates()) {
            for (const std::string_view name : {"entries of two sizes",
                                                "outputs of two sizes",
                                                "entropy",
                                                "staircase",
                                                "log gamma",
                                                "near a pole",
                                                "jump beside",
                                                "many entries",
                                                "many outputs",
                                                "outputs far apart",
                                                "over its norm",
                                                "around its mean",
                                                "RMS norm",
                                                "layer norm",
                                                "onto a ball",
                                                "smooth threshold",
                                                "similarity",
                                                "norm in evaluation",
                                                "residual",
                                                "kernel of a signal",
                                                "relu network",
                                                "masked",
                                                "lost exponentials",
                                                "lost Gaussians",
                                                "lost softplus",
                                                "lost weights",
                                                "lost in both outputs"}) {
                if (hard.name == name) bases.push_back(hard);
            }
        }
        bases.insert(bases.end(), steep_templates().begin(), steep_templates().end());
        return bases;
    }();
    return all;
}

}  // namespace

namespace {

// Rounds x to the format; false if x or f(x) are not in the middle of its range.
bool fits(Format format, PlainCase& one) {
    const double most = format == Format::f16 ? 1e3 : 1e30;
    if (format == Format::f64) return true;
    if (one.by_own_size) return false;  // small entries are lost anyway
    const auto is_inside = [most](double value) {
        return value == 0 || (std::abs(value) < most && std::abs(value) > 1 / most);
    };
    if (!std::all_of(one.x.begin(), one.x.end(), is_inside)) return false;
    for (double& value : one.x) value = rounded(format, value);
    const Values y = one.f(one.x);
    return std::all_of(y.begin(), y.end(), is_inside);
}

}  // namespace

std::vector<Values> cotangents(std::size_t outputs) {
    std::vector<Values> all;
    for (std::size_t i = 0; i < outputs && i < kOutputsAlone; ++i) {
        all.emplace_back(outputs, 0.0);
        all.back()[i] = 1;
    }
    Values together(outputs);
    for (std::size_t i = 0; i < outputs; ++i) together[i] = std::cos(static_cast<double>(i));
    if (outputs > 1) all.push_back(together);
    for (double& weight : together) weight *= 1024;
    all.push_back(together);
    return all;
}

namespace {

// Whether f changes by more than its rounding when x_i moves by half of itself. Where it does not,
// a claim of 0 is as right as anybody can tell.
bool depends_on(const PlainCase& one, std::size_t i) {
    constexpr double kClearly = 64 * 2.2e-16;
    const Values here = one.f(one.x);
    for (const double factor : {0.5, 1.5}) {
        Values x = one.x;
        x[i] *= factor;
        const Values there = one.f(x);
        for (std::size_t k = 0; k < here.size(); ++k) {
            if (std::abs(there[k] - here[k]) > kClearly * std::abs(here[k])) return true;
        }
    }
    return false;
}

// The errors of entries, each relative to its own size or to `least` of the largest; only those
// of at least `seen` of the largest entry.
Values errors_above(const CorpusCase& one, double least, double seen = 0) {
    Values worst(one.plain.x.size(), 0.0);
    for (const Values& g : cotangents(one.plain.f(one.plain.x).size())) {
        const Values right = one.right(one.plain.x, g),
                     claimed = one.plain.pullback(one.plain.x, g);
        double largest = 0;
        for (const double slope : right) largest = std::max(largest, std::abs(slope));
        for (std::size_t i = 0; i < worst.size(); ++i) {
            if (std::abs(claimed[i] - right[i]) < seen * largest) continue;
            const bool says_nothing = one.plain.by_own_size && claimed[i] == 0 && right[i] != 0;
            if (says_nothing && !depends_on(one.plain, i)) continue;
            worst[i] = std::max(worst[i], error_of(claimed[i], right[i], least * largest));
        }
    }
    return worst;
}

constexpr double kLeastSize = 1e-13;  // of an entry, as a part of the largest one

}  // namespace

Values errors(const CorpusCase& one) {
    const double usual = one.plain.format == Format::f64 ? kLeastSize : 0.1;
    return errors_above(one, one.plain.by_own_size ? 0 : usual);
}

CorpusCase right_case(std::uint64_t number, std::uint64_t seed) {
    Draw draw(seed_of(number, seed, 0));
    const auto& all = hard_templates();
    CorpusCase one;
    one.of = all[number % all.size()].name;
    one.plain = drawn(all[number % all.size()], draw, one.title);
    one.right = one.plain.pullback;
    one.must_pass = resolvable(one.plain);
    return one;
}

CorpusCase wrong_case(std::uint64_t number, std::uint64_t seed, Format format) {
    const double visible = std::max(1e-6, 32 * epsilon(format) * (format != Format::f64));
    Draw draw(seed_of(number, seed, 1));
    const auto& mistakes = planted_mistakes();
    const PlantedMistake& mistake = mistakes[number % mistakes.size()];
    // In a narrow format every function has steps, and hides its small entries.
    const bool only_in_f64 = mistake.name == "straight-through" || mistake.name == "lost entries";
    if (format != Format::f64 && only_in_f64) {
        return wrong_case(number + 1, seed, format);
    }
    for (;;) {
        CorpusCase one;
        one.of = mistake.name;
        one.plain = drawn(wrong_bases()[draw.below(wrong_bases().size())], draw, one.title);
        if (!fits(format, one.plain)) continue;
        one.plain.format = format;
        const Planted planted = mistake.plant(one.plain, draw);
        if (!planted.pullback) continue;
        one.title = fmt::format("{}{}{} in {}", mistake.name, planted.note.empty() ? "" : " ",
                                planted.note, one.title);
        one.mistake = &mistake;
        one.right = std::exchange(one.plain.pullback, planted.pullback);
        const auto most = [](const Values& worst) {
            return *std::max_element(worst.begin(), worst.end());
        };
        if (!(most(errors(one)) > visible)) continue;
        constexpr double kSeen =
            1e-12;  // differences may show no smaller part of the largest entry
        one.must_fail = !one.plain.by_own_size || most(errors_above(one, 0, kSeen)) > visible;
        return one;
    }
}

}  // namespace tapestry::test
