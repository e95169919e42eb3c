#include <tapestry/autograd/check/rule_rounding.h>

#include <tapestry/autograd/check/values.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

namespace tapestry::checker {
namespace {

using Values = std::vector<double>;

constexpr int kDifferences = 5;  // of differences, in which smooth parts vanish
constexpr std::size_t kPlaces = 17, kSamples = kPlaces - kDifferences;
// Parts of x's own size. From one to the next, smooth parts shrink by 2^15 and rounding does not.
constexpr std::array kDistances{-3, -6, -9, -12, -15, -18};

// The gradients at kPlaces places in a row from x.
using Stretch = std::vector<RuleGradients>;

bool all_finite(const RuleGradients& gradients) {
    for (const auto& gradient : gradients) {
        if (!std::all_of(gradient.begin(), gradient.end(), is_finite)) return false;
    }
    return true;
}

std::optional<Stretch> stretch_from(Subject& subject, const std::vector<Values>& weights,
                                    const std::vector<Values>& u, double distance) {
    Stretch stretch;
    for (std::size_t k = 0; k < kPlaces; ++k) {
        const double t = distance * static_cast<double>(k) / (kPlaces - 1);
        bool is_defined = false;
        subject.moved_along(u, t, [&] {
            is_defined =
                subject.where_defined([&] { stretch.push_back(subject.gradients(weights)); });
        });
        if (!is_defined || !all_finite(stretch.back())) return {};
    }
    return stretch;
}

// An element's errors along a stretch.
struct Errors {
    std::array<double, kSamples> samples{};
    double most = 0;
    bool is_stuck = false;  // it hardly moves at all
};

// Independent errors of deviation s have differences of deviation s sqrt((2k)! / (k!)^2). A jump
// at one place, as a kink of f makes it, is in kDifferences of them: more than a few times as much
// as usual does not count, unless it is at most `unseen`.
Errors errors_of(std::array<double, kPlaces> values, double unseen) {
    constexpr double kAmplified = 15.874507866387544;  // sqrt(10! / 5!^2)
    constexpr double kFewTimes = 4;
    constexpr int kHardly = 4;
    int moves = 0;
    for (std::size_t k = 0; k + 1 < kPlaces; ++k) moves += values[k] != values[k + 1] ? 1 : 0;
    for (int order = 0; order < kDifferences; ++order) {
        for (std::size_t k = 0; k + 1 < kPlaces - static_cast<std::size_t>(order); ++k) {
            values[k] = values[k + 1] - values[k];
        }
    }
    Errors errors{.is_stuck = moves <= kHardly};
    std::array<double, kSamples> sizes{};
    for (std::size_t k = 0; k < kSamples; ++k) {
        errors.samples[k] = values[k] / kAmplified;
        sizes[k] = std::abs(errors.samples[k]);
    }
    std::nth_element(sizes.begin(), sizes.begin() + kSamples / 2, sizes.end());
    const double limit = std::max(kFewTimes * sizes[kSamples / 2], unseen);
    for (double& sample : errors.samples) {
        sample = std::clamp(sample, -limit, limit);
        errors.most = std::max(errors.most, std::abs(sample));
    }
    return errors;
}

// Of distances from far to near the first counts whose errors are as large at the next one, as
// smooth parts would not be; from then on, the one with the largest. Where an element hardly moves,
// as the rounding of an f32 value next to 1 does, its errors count if they are at most `unseen`.
struct Element {
    double most = 0;
    bool is_stuck = true, has_settled = false;

    /// Whether those of the next distance take the place of the errors so far.
    bool is_followed_by(const Errors& next, double unseen) {
        constexpr double kStays = 1.0 / 16;
        const bool is_small = most <= unseen;
        const bool settles =
            next.is_stuck ? !is_stuck && is_small : !is_stuck && next.most >= kStays * most;
        has_settled = has_settled || settles;
        return next.most > most || !(has_settled || (next.is_stuck && is_small));
    }
};

RuleGradients zeros_like(RuleGradients gradients) {
    for (auto& gradient : gradients) {
        for (Values& values : gradient) std::fill(values.begin(), values.end(), 0.0);
    }
    return gradients;
}

// The samples of all elements, from one distance after the other; 0 for those that never move, as
// the gradient of a bias does not.
class Samples {
public:
    Samples(const RuleGradients& like, const std::vector<Values>& u, std::vector<double> unseen)
        : samples_(kSamples, zeros_like(like)), u_(u), unseen_(std::move(unseen)) {
        for (std::size_t w = 0; w < like.size(); ++w) {
            for (const Values& values : like[w]) elements_.resize(elements_.size() + values.size());
        }
    }

    void note(const Stretch& stretch) {
        auto element = elements_.begin();
        for (std::size_t w = 0; w < unseen_.size(); ++w) {
            for (std::size_t leaf = 0; leaf < u_.size(); ++leaf) {
                for (std::size_t i = 0; i < u_[leaf].size(); ++i) {
                    note(stretch, w, leaf, i, *element++);
                }
            }
        }
    }

    std::vector<RuleGradients> take() { return std::move(samples_); }

private:
    void note(const Stretch& stretch, std::size_t w, std::size_t leaf, std::size_t i,
              Element& element) {
        std::array<double, kPlaces> values{};
        for (std::size_t k = 0; k < kPlaces; ++k) values[k] = stretch[k][w][leaf][i];
        const double unseen = unseen_[w] / std::abs(u_[leaf][i]);
        const Errors here = errors_of(values, unseen);
        if (!element.is_followed_by(here, unseen)) return;
        element.most = here.most;
        element.is_stuck = here.is_stuck;
        for (std::size_t k = 0; k < kSamples; ++k) samples_[k][w][leaf][i] = here.samples[k];
    }

    std::vector<RuleGradients> samples_;
    const std::vector<Values>& u_;
    std::vector<double> unseen_;  // [weights]
    std::vector<Element> elements_ = {};
};

// A random part of the size of each number: by numbers of many digits, because from 1 half of it
// leads to numbers that f32 does not round.
std::vector<Values> random_step(Subject& subject, std::uint64_t seed) {
    std::vector<Values> u;
    for (std::size_t leaf = 0; leaf < subject.leaves().size(); ++leaf) {
        u.push_back(subject.direction(leaf, seed + leaf));
        const Values parts = random_parts(u.back().size(), seed + leaf);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            u.back()[i] *= 0.5 + 0.5 * std::abs(parts[i]);
        }
    }
    return u;
}

bool are_in_f32(const std::vector<Values>& gradient) {
    bool any = false;
    for (const Values& values : gradient) {
        for (const double x : values) {
            if (!std::isfinite(x) || x == 0) continue;
            if (rounded(Format::f32, x) != x) return false;
            any = true;
        }
    }
    return any;
}

}  // namespace

bool computes_in_f32(Subject& subject, const std::vector<Values>& here, const Values& weights,
                     const std::vector<Values>& between) {
    constexpr double kHalf = 0.4876543210987654;  // of many digits
    if (are_in_f32(between)) return true;
    const bool is_zero = std::all_of(between.begin(), between.end(), [](const Values& of_leaf) {
        return std::all_of(of_leaf.begin(), of_leaf.end(), [](double x) { return x == 0; });
    });
    const bool is_one = subject.outputs() == 1;
    if (!is_zero && !(is_one && are_in_f32(here))) return false;
    std::vector<Values> x, there;
    for (const auto& [name, leaf] : subject.leaves()) x.push_back(leaf.to_vector<double>());
    subject.moved_along(x, -kHalf, [&] {
        subject.where_defined([&] { there = subject.gradient(is_one ? Values{1} : weights); });
    });
    return !there.empty() && there != here && are_in_f32(there);
}

std::vector<RuleGradients> rounding_inside(Subject& subject, const std::vector<Values>& weights,
                                           const Values& values, std::uint64_t seed) {
    constexpr double kUnseen = 0x1p-20;                   // of f: a few of its last bits in f32
    constexpr std::size_t kMost = std::size_t{1} << 18U;  // of a stretch: 36 MB
    const std::vector<Values> u = random_step(subject, seed);
    std::size_t numbers = 0;
    for (const Values& of_leaf : u) numbers += of_leaf.size() * weights.size();
    if (numbers > kMost) return {};
    std::vector<double> unseen;
    for (const Values& w : weights) unseen.push_back(kUnseen * usual_size(w, values));
    std::optional<Samples> samples;
    // In another direction at each distance: along one of them an inner sum may stand still.
    for (const int power : kDistances) {
        const auto other = random_step(subject, ++seed);
        const auto stretch = stretch_from(subject, weights, other, std::ldexp(1.0, power));
        if (!stretch) continue;
        if (!samples) samples.emplace((*stretch)[0], u, unseen);
        samples->note(*stretch);
    }
    return samples ? samples->take() : std::vector<RuleGradients>{};
}

}  // namespace tapestry::checker
