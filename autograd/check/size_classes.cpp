#include <tapestry/autograd/check/size_classes.h>

#include <tapestry/autograd/check/values.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry::checker {
namespace {

constexpr double kWide = 1e3;

}  // namespace

double even_weight(double weight) {
    return std::copysign(0.5 + 0.5 * std::min(std::abs(weight), 2.0), weight);
}

// A pass for each class, which for a million numbers is faster than sorting them.
std::vector<SizeClass> size_classes(const std::vector<double>& sizes, double nothing) {
    std::vector<SizeClass> classes;
    double most = 0, last = 0;
    SizeClass none;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] > nothing) {
            most = std::max(most, sizes[i]);
        } else {
            none.members.push_back(i);
        }
    }
    while (most > nothing) {
        SizeClass one{.most = most, .least = most};
        double next = nothing;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            const double size = sizes[i];
            const bool is_known = !classes.empty() && size * kWide >= last;
            if (!(size > nothing) || is_known) continue;
            if (size * kWide < most) {
                next = std::max(next, size);
                continue;
            }
            one.members.push_back(i);
            one.least = std::min(one.least, size);
        }
        classes.push_back(std::move(one));
        last = std::exchange(most, next);
    }
    if (!none.members.empty()) classes.push_back(std::move(none));
    return classes;
}

std::vector<double> output_sizes(Subject& subject, const Neighbourhood& around, std::uint64_t seed,
                                 Format format) {
    constexpr double kUsual = 0x1p-7, kNumbers = 16;
    const bool narrow = format != Format::f64;
    const double shown = narrow ? kNumbers * epsilon(format) : kEps;
    const double step = narrow ? std::max(kUsual, shown) : kUsual;
    std::vector<double> sizes(subject.outputs());
    // Near 0 a format's numbers do not become finer with their size.
    const double least = narrow ? kNumbers * smallest(format) : 0;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        sizes[i] = shown * std::abs(around.base.values[i]) + least;
    for (std::size_t leaf = 0; leaf < subject.leaves().size(); ++leaf) {
        if (subject.leaves()[leaf].second.numel() == 0) continue;
        Line line = subject.along(leaf, subject.direction(leaf, seed + leaf), 1);
        const double h = std::min(step, line.reach());
        const Sample &above = line.at(h), &below = line.at(-h);
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            const double size = std::abs(above.values[i] - below.values[i]) / (2 * h);
            if (size > sizes[i]) sizes[i] = size;
        }
    }
    for (double& size : sizes) size = std::isfinite(size) ? size : 0;
    return sizes;
}

std::vector<OutputClass> output_classes(const std::vector<double>& sizes,
                                        const std::vector<double>& weights) {
    constexpr double kAlike = 8;
    const auto classes = size_classes(sizes, 0);
    if (classes.size() == 1 && classes[0].most <= kAlike * classes[0].least) return {};
    std::vector<OutputClass> all;
    for (const SizeClass& one : classes) {
        OutputClass found{std::vector<double>(weights.size(), 0.0), {}};
        for (const std::size_t i : one.members) {
            found.weights[i] =
                one.most > 0 ? even_weight(weights[i]) * (one.most / sizes[i]) : weights[i];
        }
        found.words = one.members.size() == 1
                          ? fmt::format("output element {}", one.members[0])
                          : fmt::format("outputs that change by about {:.0e}", one.most);
        all.push_back(std::move(found));
    }
    return all;
}

std::vector<EntryClass> entry_classes(const ClaimedGradient& claim, const std::vector<double>& u) {
    std::vector<double> sizes(u.size());
    for (std::size_t i = 0; i < u.size(); ++i) {
        sizes[i] = std::abs(claim.gradient[i] * u[i]);
        if (!std::isfinite(sizes[i])) sizes[i] = 0;
        double moved = 0;
        for (const auto& shaken : claim.shaken) {
            const double change = std::abs(shaken[i] - claim.gradient[i]);
            if (std::isfinite(change)) moved = std::max(moved, change);
        }
        // An entry that is only rounding counts as 0.
        if (std::abs(claim.gradient[i]) <= kRounding * moved) sizes[i] = 0;
    }
    std::vector<EntryClass> all;
    for (SizeClass& one : size_classes(sizes, 0)) {
        EntryClass found{std::move(one), std::vector<double>(u.size(), 0.0)};
        for (const std::size_t i : found.entries.members) {
            found.shares[i] = found.entries.most > 0 ? found.entries.least / sizes[i] : 1;
        }
        all.push_back(std::move(found));
    }
    return all;
}

}  // namespace tapestry::checker
