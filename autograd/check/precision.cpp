#include <tapestry/autograd/check/precision.h>

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/preconditions.h>
#include <tapestry/autograd/check/values.h>
#include <tapestry/autograd/observer.h>
#include <tapestry/autograd/repeated_run.h>
#include <tapestry/core/create.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapestry {
namespace {

using namespace checker;

constexpr double kEps32 = std::numeric_limits<float>::epsilon();
constexpr double kSafety = 6;
// What f32 rounds inside of an op and no change of the inputs brings to light: 1 - tanh(x) loses
// some ten bits where x is 4. A part of the largest entry.
constexpr double kUnseen = 1024 * kEps32;
constexpr double kResolution = 1e-2;
constexpr int kShaken = 4;

// The largest number that any op gave (a mask's -1e30 aside).
class Loudest final : public TapeObserver {
public:
    void recorded(const Op&, const Tensors& inputs, const Tensors& outputs) override {
        for (const Tensors& tensors : {inputs, outputs}) {
            for (const Tensor& x : tensors) {
                if (!x.defined() || !is_floating(x.dtype())) continue;
                for (const double value : x.to_vector<double>()) {
                    if (std::abs(value) < 1e20) largest = std::max(largest, std::abs(value));
                }
            }
        }
    }
    double largest = 0;
};

struct Run {
    std::vector<Values> gradients;
    double loudest = 0;
    std::uint64_t branch = 0;
    bool finite = true;
};

Tensor as(const Values& values, const Shape& shape, DType dtype) {
    if (dtype == DType::f64) return tensor(values, shape);
    return tensor(std::vector<float>(values.begin(), values.end()), shape);
}

void put(const Values& values, Tensor leaf) {
    visit_floating("compare_precisions", leaf.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* to = leaf.mutable_data<T>();
        for (std::size_t i = 0; i < values.size(); ++i) to[i] = static_cast<T>(values[i]);
    });
}

// Gradients in one type, with the leaves holding x.
Run run_in(const TwoPrecisions& f, const std::vector<Values>& x, const Values& weights, DType dtype,
           const std::vector<GeneratorLog::State>& generators) {
    const RewindGuard frozen(generators);
    Tensors leaves;
    for (const auto& [name, leaf] : f.leaves(dtype)) {
        put(x[leaves.size()], leaf);
        leaves.push_back(leaf);
    }
    Run result;
    BranchTrace trace(false);
    Loudest loudest;
    Tape tape;
    const Tensor y = f.value();
    require<DTypeError>(y.dtype() == dtype,
                        "compare_precisions: for {} inputs the function gave {}", dtype, y.dtype());
    result.branch = trace.branches.decided;
    result.loudest = loudest.largest;
    for (const double value : y.to_vector<double>()) {
        result.finite = result.finite && std::isfinite(value);
    }
    const bool followed = tape.follows(y);
    const Tensors grads =
        followed ? tape.gradient(y, leaves, {.cotangent = as(weights, y.shape(), dtype)})
                 : Tensors{};
    for (std::size_t i = 0; i < x.size(); ++i) {
        result.gradients.push_back(followed ? grads[i].to_vector<double>()
                                            : Values(x[i].size(), 0.0));
    }
    return result;
}

Values rounded(Values x) {
    for (double& value : x) value = static_cast<double>(static_cast<float>(value));
    return x;
}

// As with_shaken_bits(), of f32.
Values shaken(Values x, std::uint64_t seed) {
    const Values signs = random_signs(x.size(), seed);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += std::ldexp(x[i] * signs[i], -22);
    return rounded(std::move(x));
}

std::size_t bin_of(double ulps) {
    constexpr std::array<double, 5> kEdges{0.5, 1.5, 3.5, 15.5, 255.5};
    return static_cast<std::size_t>(
        std::find_if(kEdges.begin(), kEdges.end(), [ulps](double edge) { return ulps < edge; }) -
        kEdges.begin());
}

// uncertainty: the largest change of any entry.
PrecisionReport::Input compare(const Values& f32, const Values& f64, double uncertainty,
                               double natural, double loudest, double elsewhere) {
    PrecisionReport::Input found;
    const double scale = largest(f64);
    const double unseen = kUnseen * scale + 64 * kEps32 * natural;
    // e^x is as wrong, relatively, as x is absolutely, and x is rounded at the size of the largest
    // number that went into it.
    // The gradient may be the small difference of such numbers (p - 1): elsewhere one sees of
    // which.
    const double by_size = 4 * kEps32 * (1 + loudest) * std::max(scale, elsewhere);
    const double allowed = kSafety * uncertainty + unseen + by_size;
    double worst = -1;
    std::size_t place = 0;
    for (std::size_t i = 0; i < f64.size(); ++i) {
        double difference = std::abs(f32[i] - f64[i]);
        if (f32[i] == f64[i]) difference = 0;  // both infinite
        if (!std::isfinite(difference)) difference = std::numeric_limits<double>::infinity();
        if (difference > worst) {
            worst = difference;
            place = i;
        }
        const double ulp = kEps32 * std::exp2(std::floor(std::log2(std::max(scale, 1e-38))));
        ++found.ulps[bin_of(difference / ulp)];
    }
    found.tolerance = allowed;
    if (f64.empty()) return found;
    found.f32 = f32[place];
    found.f64 = f64[place];
    found.worst = fmt::format("{}", place);
    if (worst > allowed) {
        found.verdict = Verdict::fail;
    } else if (worst > unseen && allowed > kResolution * scale) {
        found.verdict = Verdict::inconclusive;
        found.reason = Reason::roundoff;
    }
    return found;
}

// f in both types at the same point, with the same cotangent and the same random numbers.
class PrecisionCheck {
public:
    PrecisionCheck(const TwoPrecisions& f, std::uint64_t seed) : f_(f), seed_(seed) {
        leaves_ = f.leaves(DType::f64);
        for (const auto& [name, leaf] : leaves_) {
            original_.push_back(leaf.to_vector<double>());
            x_.push_back(rounded(original_.back()));
        }
        const GeneratorLog log;
        const Tensor y = f.value();
        generators_ = log.states();
        for (const auto& then : generators_) then.generator->set_state(then.seed, then.offset);
        values_ = y.to_vector<double>();
        w_ = rounded(random_weights(values_.size(), seed));
    }

    PrecisionReport run() {
        const Run narrow = at(x_, w_, DType::f32);
        const Run exact = at(x_, w_, DType::f64);
        std::vector<Values> opposite = x_;
        for (Values& one : opposite) {
            for (double& value : one) value = -value;
        }
        const Run negated = at(opposite, w_, DType::f64);
        PrecisionReport report;
        if (remembers(narrow)) {
            report.verdict = Verdict::fail;
            report.complaint =
                "in f32 the same incoming gradient gave two results: a backward rule "
                "keeps something between calls";
        }
        const std::vector<double> moved = largest_changes(narrow);
        for (std::size_t i = 0; i < x_.size(); ++i) {
            auto found = input(i, narrow, exact, negated, moved[i]);
            if (found.verdict > report.verdict) {
                report.verdict = found.verdict;
                report.reason = found.reason;
            }
            report.inputs.push_back(std::move(found));
        }
        const NamedTensors wide = f_.leaves(DType::f64);
        for (std::size_t i = 0; i < x_.size(); ++i) put(original_[i], wide[i].second);
        return report;
    }

private:
    Run at(const std::vector<Values>& x, const Values& weights, DType dtype) const {
        return run_in(f_, x, weights, dtype, generators_);
    }

    // Asked the same again, with something else in between, do the rules say the same?
    bool remembers(const Run& narrow) const {
        at(x_, rounded(random_weights(w_.size(), seed_ + 3)), DType::f32);
        return at(x_, w_, DType::f32).gradients != narrow.gradients && narrow.finite;
    }

    // By how much entries of each f32 gradient change with the last bits of inputs and cotangent.
    std::vector<double> largest_changes(const Run& narrow) const {
        std::vector<double> moved(x_.size(), 0.0);
        for (std::uint64_t k = 0; k < kShaken; ++k) {
            std::vector<Values> near;
            for (const Values& one : x_) near.push_back(shaken(one, seed_ + 10 * k + near.size()));
            const Values w = shaken(w_, seed_ + 10 * k + 9);
            Run other = at(near, w, DType::f32);
            // Where the last bits choose the branch, they are left alone.
            if (other.branch != narrow.branch) other = at(x_, w, DType::f32);
            for (std::size_t i = 0; i < x_.size(); ++i) {
                for (std::size_t j = 0; j < x_[i].size(); ++j) {
                    const double change = std::abs(other.gradients[i][j] - narrow.gradients[i][j]);
                    if (std::isfinite(change)) moved[i] = std::max(moved[i], change);
                }
            }
        }
        return moved;
    }

    PrecisionReport::Input input(std::size_t i, const Run& narrow, const Run& exact,
                                 const Run& negated, double moved) const {
        const double elsewhere = largest(negated.gradients[i]);
        const double natural = largest(w_) * largest(values_) / typical_size(x_[i]);
        auto found = compare(narrow.gradients[i], exact.gradients[i], moved, natural,
                             narrow.loudest, elsewhere);
        found.name = leaves_[i].first;
        found.shape = leaves_[i].second.shape();
        if (!found.worst.empty()) found.worst = index_text(found.shape, std::stoll(found.worst));
        const bool overflow =
            !narrow.finite || largest(exact.gradients[i]) > 1e38 ||
            (largest(exact.gradients[i]) < 1e-37 && largest(exact.gradients[i]) > 0);
        if (found.verdict != Verdict::pass && (overflow || narrow.branch != exact.branch)) {
            found.verdict = Verdict::inconclusive;
            found.reason = overflow ? Reason::not_finite : Reason::kink;
        }
        return found;
    }

    const TwoPrecisions& f_;
    std::uint64_t seed_;
    NamedTensors leaves_ = {};
    std::vector<Values> original_ = {};
    std::vector<Values> x_ = {};  // rounded to f32
    std::vector<GeneratorLog::State> generators_ = {};
    Values values_ = {};
    Values w_ = {};
};

}  // namespace

PrecisionReport compare_precisions(const TwoPrecisions& f, std::uint64_t seed) {
    const RepeatedRun trial;
    return PrecisionCheck(f, seed).run();
}

PrecisionReport compare_precisions(const TensorFunction& f, const Tensors& inputs,
                                   std::uint64_t seed) {
    refuse_overlaps(inputs);
    NamedTensors wide, narrow;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        require<DTypeError>(inputs[i].defined() && is_floating(inputs[i].dtype()),
                            "compare_precisions: input {} is not f32 or f64", i);
        const std::string name = fmt::format("input {}", i);
        const Values values = inputs[i].to_vector<double>();
        wide.emplace_back(name, as(values, inputs[i].shape(), DType::f64).set_requires_grad());
        narrow.emplace_back(name, as(values, inputs[i].shape(), DType::f32).set_requires_grad());
    }
    Tensors x;
    const auto leaves = [&](DType dtype) {
        const NamedTensors& chosen = dtype == DType::f64 ? wide : narrow;
        x.clear();
        for (const auto& [name, leaf] : chosen) x.push_back(leaf);
        return chosen;
    };
    return compare_precisions({leaves, [&] { return f(x); }}, seed);
}

}  // namespace tapestry
