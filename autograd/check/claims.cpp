#include <tapestry/autograd/check/claims.h>

#include <tapestry/autograd/check/rule_rounding.h>
#include <tapestry/autograd/check/size_classes.h>
#include <tapestry/autograd/check/values.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace tapestry::checker {
namespace {

using Values = std::vector<double>;

bool has_nan(const std::vector<Values>& gradient) {
    return std::any_of(gradient.begin(), gradient.end(), [](const Values& values) {
        return std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
    });
}

// Gradients with shaken bits: of the incoming gradient times these factors, for plain functions. (A
// tape's ops are exact.)
constexpr double kShakenGradients[] = {1, -0x1p12, 0x1p30};
// For rules in f32 also times numbers of many digits, which round everything otherwise.
constexpr double kOtherDigits[] = {1.3819660112501051, -0.7639320225002103, 0.8541019662496846};

}  // namespace

// All outputs together; again with their sizes evened out, if they are very different, or for a
// plain function each class of sizes by itself; each output element by itself, if a method needs
// it.
std::vector<Values> Claims::all_weights(bool each, bool classes) {
    const bool wide = options_.limits.format == Format::f64;
    const bool is_tape = options_.limits.lost_may_pass && wide;
    std::vector<Values> all{weights_};
    words_ = {"all outputs weighted"};
    if (options_.limits.lost_may_pass) {
        if (Values even = evened(weights_, around_); even != weights_) {
            all.push_back(std::move(even));
            words_.emplace_back("outputs weighted by their sizes");
        }
    }
    if (!is_tape && classes && weights_.size() > 1) {
        const Values sizes =
            output_sizes(subject_, around_, options_.seed + 31, options_.limits.format);
        std::vector<OutputClass> found = output_classes(sizes, weights_);
        // Formats of 16 bits show too little of sizes to even them out within a class.
        constexpr double kCoarse = 1e-4;
        const bool coarse = !wide && epsilon(options_.limits.format) > kCoarse;
        if (coarse && found.size() == 1) found.clear();
        if (!found.empty()) first_class_ = all.size();
        for (OutputClass& one : found) {
            all.push_back(std::move(one.weights));
            words_.push_back(std::move(one.words));
        }
    }
    together_ = all.size();
    // The only output is all of them.
    for (std::size_t i = 0; i < weights_.size() && each && weights_.size() > 1; ++i) {
        all.emplace_back(weights_.size(), 0.0);
        all.back()[i] = 1;
        words_.push_back(fmt::format("output element {}", i));
    }
    return all;
}

void Claims::collect(bool each, bool classes,
                     const std::function<void(const Complaint&)>& complain) {
    const std::vector<Values> all = all_weights(each, classes);
    const auto& leaves = subject_.leaves();
    const RuleGradients gradients = subject_.gradients(all);
    // Do the rules give the same result for the same input again, with another call in between?
    const Values others = random_weights(weights_.size(), options_.seed + 3);
    const auto between = subject_.gradient(others);
    const auto again = subject_.gradient(weights_);
    Complaint memory;
    if (!has_nan(gradients[0])) {
        memory = find_memory(subject_, weights_, around_.base.values, gradients[0], between, again);
    }
    if (memory.verdict != Verdict::pass) complain(memory);
    claims_.resize(leaves.size());
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        for (std::size_t w = 0; w < all.size(); ++w) {
            const bool is_evened = w > 0 && w < (first_class_ > 0 ? first_class_ : together_);
            const bool in_class = first_class_ > 0 && w >= first_class_ && w < together_;
            const bool narrow = options_.limits.format != Format::f64;
            const bool alone = narrow && (in_class || w >= together_);
            claims_[leaf].push_back({all[w], gradients[w][leaf], {}, words_[w], is_evened, alone});
        }
    }
    const std::string& overwritten = subject_.overwritten();
    if (!overwritten.empty()) {
        complain({Verdict::fail, fmt::format("a backward rule writes into {}", overwritten)});
    }
    // Shaken bits would only show that.
    if (memory.verdict != Verdict::pass || !overwritten.empty()) return;
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        if (same_bits(again[leaf], gradients[0][leaf])) continue;  // it would show nothing
        claims_[leaf][0].shaken.push_back(again[leaf]);
    }
    const Complaint nonlinear = find_nonlinearity(subject_, weights_, around_.base.values,
                                                  gradients[0], options_.limits.format);
    const bool wide = options_.limits.format == Format::f64;
    const bool counts = wide || nonlinear.verdict == Verdict::fail;
    if (nonlinear.verdict != Verdict::pass && counts) complain(nonlinear);
    const bool scales =
        wide && !options_.limits.lost_may_pass && nonlinear.verdict != Verdict::fail;
    // Times weights that are numbers of f32 themselves, any rule may give such numbers.
    const bool in_f32 = computes_in_f32(subject_, gradients[0], others, between);
    shake(all, scales, in_f32);
    if (scales && in_f32) note_rounding_inside(all);
}

// A rule in f32 may give contributions below the last bit of f in f32 as 0.
void Claims::note_rounding_inside(const std::vector<Values>& all) {
    constexpr double kLastBit = 0x1p-24;
    const Values& f = around_.base.values;
    const auto add = [&](std::vector<RuleGradients>& samples) {
        for (RuleGradients& sample : samples) {
            for (std::size_t leaf = 0; leaf < claims_.size(); ++leaf) {
                for (std::size_t w = 0; w < all.size(); ++w) {
                    claims_[leaf][w].shaken.push_back(std::move(sample[w][leaf]));
                }
            }
        }
    };
    std::vector<RuleGradients> scaled;
    for (std::uint64_t k = 0; k < std::size(kOtherDigits); ++k) {
        scaled.push_back(shaken_gradients(all, options_.seed + 20 + k, kOtherDigits[k], -51));
    }
    add(scaled);
    // Its results and constants are rounded as well, each by itself.
    for (auto& of_leaf : claims_) {
        for (ClaimedGradient& claim : of_leaf) {
            claim.shaken.push_back(with_shaken_bits(claim.gradient, options_.seed + 25, -23));
        }
    }
    auto inside = rounding_inside(subject_, all, f, options_.seed + 40);
    for (RuleGradients& sample : inside) {
        for (std::size_t leaf = 0; leaf < claims_.size(); ++leaf) {
            for (std::size_t w = 0; w < all.size(); ++w) {
                Values& moved = sample[w][leaf];
                const Values& here = claims_[leaf][w].gradient;
                for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += here[i];
            }
        }
    }
    add(inside);
    for (auto& of_leaf : claims_) {
        for (ClaimedGradient& claim : of_leaf)
            claim.unseen = kLastBit * usual_size(claim.weights, f);
    }
}

// `scales`: the incoming gradient may be scaled; `in_f32`: its last bits are those of f32.
void Claims::shake(const std::vector<Values>& all, bool scales, bool in_f32) {
    const bool rounds = scales || options_.limits.format == Format::f32;
    const int power = rounds && in_f32 ? -22 : -51;
    for (std::uint64_t k = 0; k < std::size(kShakenGradients); ++k) {
        const double factor = scales ? kShakenGradients[k] : 1;
        RuleGradients shaken = shaken_gradients(all, options_.seed + 10 + k, factor, power);
        for (std::size_t leaf = 0; leaf < claims_.size(); ++leaf) {
            for (std::size_t w = 0; w < all.size(); ++w) {
                claims_[leaf][w].shaken.push_back(std::move(shaken[w][leaf]));
            }
        }
    }
}

// For the incoming gradient times a power of two, divided by it again, with the last bits of
// everything changed.
RuleGradients Claims::shaken_gradients(std::vector<Values> weights, std::uint64_t seed,
                                       double factor, int power) {
    for (Values& w : weights) {
        w = with_shaken_bits(w, seed, power);
        for (double& value : w) value *= factor;
    }
    RuleGradients found;
    subject_.shaken(seed, [&] {
        const auto there = subject_.run_where_defined();
        if (!there || there->branch != around_.base.branch) return;
        subject_.where_defined([&] { found = subject_.gradients(weights); });
    });
    // On a kink, the last bits of the inputs select the branch, so they are not shaken.
    if (found.empty()) found = subject_.gradients(weights);
    for (auto& gradient : found) {
        for (Values& slopes : gradient) {
            for (double& slope : slopes) slope /= factor;
        }
    }
    return found;
}

std::span<const ClaimedGradient> Claims::together(std::size_t leaf) const {
    const auto& all = claims_[leaf];
    return {all.data() + first_class_, together_ - first_class_};
}

std::vector<ClaimedGradient> Claims::with_each(std::size_t leaf) const {
    auto all = claims_[leaf];
    if (first_class_ == 0) return all;
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(first_class_),
              all.begin() + static_cast<std::ptrdiff_t>(together_));
    return all;
}

}  // namespace tapestry::checker
