// Preconditions for checking a gradient.
#include <tapestry/autograd/check/whole_check.h>

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/quotients.h>
#include <tapestry/autograd/check/values.h>
#include <tapestry/autograd/observer.h>
#include <tapestry/autograd/recompute.h>
#include <tapestry/core/parallel.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>

namespace tapestry::checker {
namespace {

using Values = std::vector<double>;

// With axes sorted by stride, every stride must exceed the reach of all smaller ones.
bool overlaps_itself(const Tensor& x) {
    std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride, size
    for (int axis = 0; axis < x.rank(); ++axis) {
        if (x.size(axis) > 1) axes.emplace_back(std::abs(x.strides()[axis]), x.size(axis));
    }
    std::sort(axes.begin(), axes.end());
    std::int64_t reach = 0;
    for (const auto& [stride, size] : axes) {
        if (stride <= reach) return true;
        reach += stride * (size - 1);
    }
    return false;
}

// The first and last element of its storage that x uses.
std::pair<std::int64_t, std::int64_t> extent(const Tensor& x) {
    std::int64_t first = x.offset();
    std::int64_t last = x.offset();
    for (int axis = 0; axis < x.rank(); ++axis) {
        const std::int64_t reach = x.strides()[axis] * (x.size(axis) - 1);
        (reach < 0 ? first : last) += reach;
    }
    return {first, last};
}

class OutputTrace final : public TapeObserver {
public:
    void recorded(const Op& op, const Tensors&, const Tensors& outputs) override {
        for (const Tensor& y : outputs) {
            if (y.dtype() == DType::f64) steps.emplace_back(op.described(), y.to_vector<double>());
        }
    }
    std::vector<std::pair<std::string, Values>> steps;
};

}  // namespace

void refuse_overlaps(const Tensors& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Tensor& x = inputs[i];
        if (x.numel() == 0) continue;
        require(!overlaps_itself(x),
                "gradcheck: input {} {} overlaps itself in memory (strides {}); pass a clone()", i,
                x.shape(), x.strides());
        for (std::size_t j = 0; j < i; ++j) {
            const Tensor& other = inputs[j];
            if (other.numel() == 0 || other.storage() != x.storage()) continue;
            const auto [first, last] = extent(x);
            const auto [other_first, other_last] = extent(other);
            require(last < other_first || other_last < first,
                    "gradcheck: inputs {} and {} overlap in memory; pass clones", j, i);
        }
    }
}

namespace {

// The largest difference, as a part of the largest number.
double apart(const Values& a, const Values& b) {
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double difference = std::abs(a[i] - b[i]);
        const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
        if (!same) most = std::max(most, std::isfinite(difference) ? difference : 1e300);
    }
    return most > 0 ? most / std::max(largest(a), largest(b)) : 0;
}

}  // namespace

std::string find_randomness(Subject& subject, double allowed) {
    const auto traced = [&subject](Values& values) {
        OutputTrace trace;
        Tape tape;
        for (const Tensor& y : subject.outputs_on(tape)) {
            const auto one = y.to_vector<double>();
            values.insert(values.end(), one.begin(), one.end());
        }
        return std::move(trace.steps);
    };
    Values once, again;
    const auto first = traced(once);
    const auto second = traced(again);
    if (same_bits(once, again) || apart(once, again) <= allowed) return {};
    for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
        if (first[i].first != second[i].first) {
            return fmt::format("the second run differs: {} where the first had {}", second[i].first,
                               first[i].first);
        }
        if (same_bits(first[i].second, second[i].second)) continue;
        return fmt::format(
            "{} is the first to give different results for the same inputs: it, or something off "
            "the tape that it reads, is random or has a race",
            first[i].first);
    }
    return fmt::format(
        "the same inputs give different results, {:.1g} of the largest apart: something off the "
        "tape is random, or is kept between calls",
        apart(once, again));
}

std::vector<std::string> find_dependence_on_running(Subject& subject,
                                                    const std::vector<double>& weights) {
    std::vector<std::string> found;
    const Values value = subject.run().values;
    const auto gradient = subject.gradient(weights);
    const auto same = [](const auto& a, const auto& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_bits);
    };
    {
        const int before = num_threads();
        const int others = before == 1 ? 2 : 1;
        const OwnThreadsGuard threads(others);
        if (!same_bits(value, subject.run().values) || !same(gradient, subject.gradient(weights))) {
            found.push_back(
                fmt::format("{} and {} threads give different bits: a race, or sums in "
                            "an order that depends on the threads",
                            before, others));
        }
    }
    const auto again = subject.recomputed_gradient(weights);
    if (!same(gradient, again)) {
        found.emplace_back(
            "inside recompute() the gradient has different bits: the function does something else "
            "when it is computed again");
    }
    return found;
}

namespace {

// How far two gradients are apart: the largest difference as a part of the largest number, or of
// the size below which a gradient is nothing.
class Apart {
public:
    Apart(std::vector<double> nothing, double least)
        : nothing_(std::move(nothing)), least_(least) {}

    /// Of a / by and b / by_b.
    double of(const std::vector<Values>& a, double by, const std::vector<Values>& b,
              double by_b) const {
        constexpr double kHuge = 1e300;
        const double rounding = least_ / std::abs(by) + least_ / std::abs(by_b);
        double most = 0;
        for (std::size_t leaf = 0; leaf < a.size(); ++leaf) {
            if (by == by_b && same_bits(a[leaf], b[leaf])) continue;
            double apart = 0;
            for (std::size_t i = 0; i < a[leaf].size(); ++i) {
                const double difference = std::abs(a[leaf][i] / by - b[leaf][i] / by_b) - rounding;
                const bool overflows = std::abs(a[leaf][i]) > kHuge / std::abs(by_b / by);
                if (!std::isnan(difference) && !overflows) apart = std::max(apart, difference);
            }
            const double size = std::max({largest(a[leaf]) / std::abs(by),
                                          largest(b[leaf]) / std::abs(by_b), nothing_[leaf]});
            if (apart > 0) most = std::max(most, apart / size);
        }
        return most;
    }

private:
    std::vector<double> nothing_;  // by leaf
    double least_;                 // the distance of a narrow format's numbers next to 0
};

// Slopes that may be rounding for an f of this size.
Apart apart_for(Subject& subject, const Values& weights, const Values& values,
                Format format = Format::f64) {
    std::vector<double> nothing;
    const double usual = 0x1p-40 * usual_size(weights, values);
    for (std::size_t i = 0; i < subject.leaves().size(); ++i) {
        nothing.push_back(usual / subject.typical(i));
    }
    return {std::move(nothing), format == Format::f64 ? 0 : smallest(format)};
}

constexpr double kFar = 1e-3;  // an error that a check must see

// A power of two up to 2^10, and at least 2^6, by which neither the incoming gradient nor the
// gradient leaves the range of f16.
double within_f16(const Values& weights, const std::vector<Values>& gradient) {
    constexpr double kRange = 0x1p15;
    double most = largest(weights);
    for (const Values& of_leaf : gradient) most = std::max(most, largest(of_leaf));
    double factor = 0x1p6;
    while (factor < 0x1p10 && 2 * factor * most < kRange) factor *= 2;
    return factor;
}

bool are_finite(const std::vector<Values>& gradient) {
    return std::all_of(gradient.begin(), gradient.end(), is_finite);
}

// What a rule adds to J^T g, as a part of the gradient: its answer to an incoming gradient of 0, if
// it is linear without that. (A solver that stops at an absolute tolerance is not.) `shrunk`: the
// gradient for `by` times the incoming gradient.
double constant_part(Subject& subject, const Apart& apart, const std::vector<Values>& gradient,
                     std::vector<Values> shrunk, double by) {
    std::vector<Values> constant, linear = gradient;
    try {
        constant = subject.gradient(Values(subject.outputs(), 0.0));
    } catch (const std::exception&) {  // a rule may refuse 0
        return 0;
    }
    if (!are_finite(constant)) return 0;
    for (std::size_t leaf = 0; leaf < constant.size(); ++leaf) {
        for (std::size_t i = 0; i < constant[leaf].size(); ++i) {
            linear[leaf][i] -= constant[leaf][i];
            shrunk[leaf][i] -= constant[leaf][i];
        }
    }
    return apart.of(linear, 1, shrunk, by) > kFar ? 0 : apart.of(gradient, 1, linear, 1);
}

}  // namespace

Complaint find_memory(Subject& subject, const Values& weights, const Values& values,
                      const std::vector<Values>& once, const std::vector<Values>& between,
                      const std::vector<Values>& again) {
    // Compared with another gradient: a buffer may be full of earlier ones.
    const Apart apart = apart_for(subject, weights, values);
    const double other = std::max(apart.of(once, 1, between, 1), apart.of(again, 1, between, 1));
    const double by = other > 0 ? apart.of(once, 1, again, 1) / std::min(other, 1.0) : 0;
    if (!(by > kFar)) return {};
    return {Verdict::fail,
            fmt::format("the same incoming gradient gave two results, {:.1g} of the gradient "
                        "apart: a backward rule keeps something between calls",
                        by)};
}

Complaint find_nonlinearity(Subject& subject, const Values& weights, const Values& values,
                            const std::vector<Values>& gradient, Format format) {
    // Powers of two change no digit, so rounding is the same. A rule that mixes the incoming
    // gradient with x in a narrow format (matrix_exp) has fewer digits to spare; f16 has a range
    // as well.
    const bool wide = format == Format::f64, short_range = format == Format::f16;
    const double shrunk = short_range ? 0x1p-4 : 0x1p-12, grown = wide ? 0x1p12 : 0x1p4,
                 wanted = wide          ? 0x1p30
                          : short_range ? within_f16(weights, gradient)
                                        : 0x1p10;
    constexpr double kUsualOfF16 = 0x1p6;  // if more leaves the range between f and the gradient
    std::vector<double> factors{-1.0, shrunk, grown, wanted};
    if (short_range && wanted > kUsualOfF16) factors.push_back(kUsualOfF16);
    std::vector<Values> scaled;
    for (const double factor : factors) {
        scaled.push_back(weights);
        for (double& w : scaled.back()) w *= factor;
    }
    const auto found = subject.gradients(scaled);
    const std::size_t last = are_finite(found[3]) ? 3 : found.size() - 1;
    const double largest_factor = factors[last];
    const Apart apart = apart_for(subject, weights, values, format);
    const auto complaint = [](Verdict verdict, double factor, double by) {
        return Complaint{
            verdict,
            fmt::format(
                "{} times the incoming gradient does not give that multiple of "
                "the gradient, but {:.1g} of it off: the backward rule is not "
                "linear{}",
                factor, by,
                verdict == Verdict::fail ? "" : ", or only as accurate as an absolute tolerance")};
    };
    // A solver that stops at an absolute tolerance is the more accurate, the larger its right-hand
    // side. A rule that clips is the less so.
    constexpr double kOfSolvers = 0.1;
    const double negated = apart.of(gradient, 1, found[0], -1);
    if (negated > kFar) return complaint(Verdict::fail, -1, negated);
    if (short_range && !(are_finite(found[2]) && are_finite(found[last]))) return {};
    const double larger = apart.of(found[2], grown, found[last], largest_factor);
    if (larger > kFar) return complaint(Verdict::fail, largest_factor, larger);
    const double large = apart.of(gradient, 1, found[2], grown);
    if (large > kOfSolvers) return complaint(Verdict::fail, grown, large);
    const double small = apart.of(gradient, 1, found[1], shrunk);
    if (!(small > kFar)) return {};
    constexpr double kLeast = 1e-5;  // as far as a plain function's gradient may be undecided
    const double constant = constant_part(subject, apart, gradient, found[1], shrunk);
    if (!(constant > kLeast)) return complaint(Verdict::inconclusive, shrunk, small);
    return {Verdict::fail,
            fmt::format("an incoming gradient of 0 does not give 0, but {:.1g} of the gradient: "
                        "the backward rule is not linear, as it adds something that does not "
                        "depend on the incoming gradient",
                        constant)};
}

}  // namespace tapestry::checker
