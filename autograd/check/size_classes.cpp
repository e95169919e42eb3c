#include <tapestry/autograd/check/size_classes.h>

#include <tapestry/autograd/check/long_vectors.h>
#include <tapestry/autograd/check/values.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tapestry::checker {
namespace {

constexpr double kWide = 1e3;

}  // namespace

double even_weight(double weight) {
    return std::copysign(0.5 + 0.5 * std::min(std::abs(weight), 2.0), weight);
}

// A pass for each class, which for a million numbers is faster than sorting them.
std::vector<SizeClass> size_classes(const std::vector<double>& sizes) {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    std::vector<SizeClass> classes;
    double most = 0;
    std::size_t seen = 0;
    for (const double size : sizes) most = size > most ? size : most;
    while (most > 0) {
        SizeClass one{.most = most, .least = kInfinite};
        double next = 0;
        for (const double size : sizes) {
            const bool within = size * kWide >= most && size <= most;
            const double smaller = size * kWide < most ? size : 0;
            one.least = within && size < one.least ? size : one.least;
            one.count += within ? 1 : 0;
            next = smaller > next ? smaller : next;
        }
        seen += one.count;
        classes.push_back(one);
        most = next;
    }
    if (seen < sizes.size()) classes.push_back({.count = sizes.size() - seen});
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
    const auto classes = size_classes(sizes);
    if (classes.size() == 1 && classes[0].most <= kAlike * classes[0].least) return {};
    std::vector<OutputClass> all;
    for (const SizeClass& one : classes) {
        OutputClass found{std::vector<double>(weights.size(), 0.0), {}};
        std::size_t last = 0;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            if (!one.holds(sizes[i])) continue;
            last = i;
            found.weights[i] =
                one.most > 0 ? even_weight(weights[i]) * (one.most / sizes[i]) : weights[i];
        }
        found.words = one.count == 1 ? fmt::format("output element {}", last)
                                     : fmt::format("outputs that change by about {:.0e}", one.most);
        all.push_back(std::move(found));
    }
    return all;
}

EntryClasses entry_classes(const ClaimedGradient& claim, const std::vector<double>& u) {
    EntryClasses all{contributions(claim.gradient, claim.shaken, u, kRounding), {}};
    all.classes = size_classes(all.sizes);
    return all;
}

std::vector<double> shares_within(const SizeClass& one, const std::vector<double>& sizes) {
    std::vector<double> shares(sizes.size(), 0.0);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (one.holds(sizes[i])) shares[i] = one.most > 0 ? one.least / sizes[i] : 1;
    }
    return shares;
}

}  // namespace tapestry::checker
