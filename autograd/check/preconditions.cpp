// Preconditions for checking a gradient.
#include <tapestry/autograd/check/whole_check.h>

#include <tapestry/autograd/check/values.h>
#include <tapestry/autograd/observer.h>
#include <tapestry/autograd/recompute.h>
#include <tapestry/core/parallel.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

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

std::string find_randomness(Subject& subject) {
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
    if (same_bits(once, again)) return {};
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
    return "the same inputs give different results: something off the tape is random, or is kept "
           "between calls";
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
        const ThreadsGuard threads(others);
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

std::string find_nonlinearity(Subject& subject, const Values& weights,
                              const std::vector<Values>& gradient) {
    // Powers of two change no digit, so rounding is the same.
    const std::vector<double> factors{-1, 0x1p-12, 0x1p12, 0x1p30};
    std::vector<Values> scaled;
    for (const double factor : factors) {
        scaled.push_back(weights);
        for (double& w : scaled.back()) w *= factor;
    }
    const auto found = subject.gradients(scaled);
    for (std::size_t k = 0; k < factors.size(); ++k) {
        for (std::size_t leaf = 0; leaf < gradient.size(); ++leaf) {
            const double allowed = 1e-9 * std::abs(factors[k]) * largest(gradient[leaf]);
            for (std::size_t i = 0; i < gradient[leaf].size(); ++i) {
                const double expected = factors[k] * gradient[leaf][i];
                if (!(std::abs(found[k][leaf][i] - expected) > allowed)) continue;
                return fmt::format(
                    "{}: {} times the incoming gradient gives {:.6g}, where once gives {:.6g}: the "
                    "backward rule is not linear",
                    subject.leaves()[leaf].first, factors[k], found[k][leaf][i], gradient[leaf][i]);
            }
        }
    }
    return {};
}

}  // namespace tapestry::checker
