#include <tapestry/autograd/check/precision.h>

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/plain_op.h>
#include <tapestry/autograd/check/values.h>
#include <tapestry/autograd/check/whole_check.h>
#include <tapestry/autograd/observer.h>
#include <tapestry/autograd/recompute.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace tapestry {
namespace {

using namespace checker;

constexpr int kShakes = 4;
constexpr int kMoved = 8;  // points nearby for comparing errors; the largest moves are 2^4 shakes

// The rounding properties of a type.
struct Narrow {
    DType dtype;
    Format format;
    double epsilon;
    double shake;  // relative change of the inputs
    double safety;
    // Rounding inside an op that no change of the inputs reveals: 1 - tanh(x) in f32 loses about
    // ten bits at x = 4. Relative to the largest entry.
    double unseen;
    double by_value;  // the same, relative to the gradient that value and inputs suggest
    double by_size;   // and for rounding at the size of the loudest number
    double resolution;
    double largest, smallest;  // gradients beyond these are not judged
};

// With 16-bit types ops compute in f32 and round each result once: less is hidden in an op, and
// more of the rounding shows when the inputs change.
Narrow narrow_of(DType dtype) {
    const auto half = [dtype](Format format, double largest, double smallest) {
        const double e = epsilon(format);
        return Narrow{dtype, format, e, e, 3, 4 * e, 0, e, 16 * e, largest, smallest};
    };
    if (dtype == DType::bf16) return half(Format::bf16, 1e38, 1e-37);
    if (dtype == DType::f16) return half(Format::f16, 6e4, 6e-5);
    require<DTypeError>(dtype == DType::f32,
                        "compare_precisions: the format must be f32, bf16 or f16, got {}", dtype);
    const double e = epsilon(Format::f32);
    return {dtype, Format::f32, e, 2 * e, 6, 1024 * e, 64 * e, 4 * e, 1e-2, 1e38, 1e-37};
}

// The largest number that any op computed (except for a mask's -1e30), and whether an op is opaque.
class Loudest final : public TapeObserver {
public:
    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) override {
        plain = plain || is_plain(op);
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
    bool plain = false;
};

struct Run {
    std::vector<Values> gradients;
    double loudest = 0;
    std::uint64_t branch = 0;
    bool finite = true;
    bool plain = false;  // an opaque function
};

Tensor as(const Values& values, const Shape& shape, DType dtype) {
    return cast(tensor(values, shape), dtype);
}

void put(const Values& values, Tensor leaf) {
    visit_stored("compare_precisions", leaf.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* to = leaf.mutable_data<T>();
        for (std::size_t i = 0; i < values.size(); ++i) to[i] = static_cast<T>(values[i]);
    });
}

// Gradients in one type, with the leaves set to x.
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
    require<DTypeError>(y.dtype() == dtype || y.dtype() == compute_dtype(dtype),
                        "compare_precisions: for {} inputs the function gave {}", dtype, y.dtype());
    result.branch = trace.branches.decided;
    result.loudest = loudest.largest;
    result.plain = loudest.plain;
    result.finite = is_finite(y.to_vector<double>());
    const bool followed = tape.follows(y);
    const Tensors grads =
        followed ? tape.gradient(y, leaves, {.cotangent = as(weights, y.shape(), y.dtype())})
                 : Tensors{};
    for (std::size_t i = 0; i < x.size(); ++i) {
        result.gradients.push_back(followed ? grads[i].to_vector<double>()
                                            : Values(x[i].size(), 0.0));
    }
    return result;
}

Values rounded_to(const Narrow& narrow, Values x) {
    for (double& value : x) value = rounded(narrow.format, value);
    return x;
}

// Like with_shaken_bits(), for the narrow type.
Values shaken(const Narrow& narrow, Values x, std::uint64_t seed, double times = 1) {
    const Values signs = random_signs(x.size(), seed);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += x[i] * signs[i] * narrow.shake * times;
    return rounded_to(narrow, std::move(x));
}

std::size_t bin_of(double ulps) {
    constexpr std::array<double, 5> kEdges{0.5, 1.5, 3.5, 15.5, 255.5};
    return static_cast<std::size_t>(
        std::find_if(kEdges.begin(), kEdges.end(), [ulps](double edge) { return ulps < edge; }) -
        kEdges.begin());
}

// uncertainty: the largest change of any entry.
PrecisionReport::Input compare(const Narrow& type, const Values& narrow, const Values& f64,
                               double uncertainty, double natural, double loudest,
                               double elsewhere) {
    PrecisionReport::Input found;
    const double scale = largest(f64);
    const double unseen = type.unseen * scale + type.by_value * natural;
    // e^x has the relative error that x has absolutely, and x is rounded at the size of the largest
    // number that contributed to it. The gradient may be the small difference of such numbers (p -
    // 1): `elsewhere` shows their size.
    const double by_size = type.by_size * (1 + loudest) * std::max(scale, elsewhere);
    const double allowed = type.safety * uncertainty + unseen + by_size;
    double worst = -1;
    std::size_t place = 0;
    for (std::size_t i = 0; i < f64.size(); ++i) {
        double difference = std::abs(narrow[i] - f64[i]);
        if (narrow[i] == f64[i]) difference = 0;  // both infinite
        if (!std::isfinite(difference)) difference = std::numeric_limits<double>::infinity();
        if (difference > worst) {
            worst = difference;
            place = i;
        }
        const double ulp = type.epsilon * std::exp2(std::floor(std::log2(std::max(scale, 1e-38))));
        ++found.ulps[bin_of(difference / ulp)];
    }
    found.tolerance = allowed;
    if (f64.empty()) return found;
    found.narrow = narrow[place];
    found.f64 = f64[place];
    found.worst = fmt::format("{}", place);
    if (worst > allowed) {
        found.verdict = Verdict::fail;
    } else if (worst > unseen && allowed > type.resolution * scale) {
        found.verdict = Verdict::inconclusive;
        found.reason = Reason::roundoff;
    }
    return found;
}

// Runs f in both types at the same point, with the same cotangent and the same random numbers.
class PrecisionCheck {
public:
    PrecisionCheck(const TwoPrecisions& f, std::uint64_t seed, DType narrow)
        : f_(f), seed_(seed), type_(narrow_of(narrow)) {
        leaves_ = f.leaves(DType::f64);
        for (const auto& [name, leaf] : leaves_) {
            original_.push_back(leaf.to_vector<double>());
            x_.push_back(rounded_to(type_, original_.back()));
        }
        const GeneratorLog log;
        const Tensor y = f.value();
        generators_ = log.states();
        for (const auto& then : generators_) then.generator->set_state(then.seed, then.offset);
        values_ = y.to_vector<double>();
        w_ = rounded_to(type_, random_weights(values_.size(), seed));
    }

    PrecisionReport run() {
        const Run narrow = at(x_, w_, type_.dtype);
        // Measured instead for a plain function, which is only called near x.
        if (narrow.plain) type_.by_size = 0;
        const Run exact = at(x_, w_, DType::f64);
        const auto elsewhere =
            type_.by_size > 0 ? if_defined(opposite(), w_, DType::f64) : std::nullopt;
        PrecisionReport report{.dtype = type_.dtype};
        if (remembers(narrow)) {
            report.verdict = Verdict::fail;
            report.complaint = fmt::format(
                "in {} the same incoming gradient gave two results: a backward rule keeps "
                "something between calls",
                type_.dtype);
        }
        std::vector<double> moved = largest_changes(narrow);
        if (narrow.plain) {
            const std::vector<double> errors = changes_of_errors(narrow, exact);
            for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = std::max(moved[i], errors[i]);
        }
        for (std::size_t i = 0; i < x_.size(); ++i) {
            auto found = input(i, narrow, exact, elsewhere ? *elsewhere : exact, moved[i]);
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

    std::vector<Values> opposite() const {
        std::vector<Values> all = x_;
        for (Values& x : all) {
            for (double& value : x) value = -value;
        }
        return all;
    }

    // nullopt if f is not defined.
    std::optional<Run> if_defined(const std::vector<Values>& x, const Values& weights,
                                  DType dtype) const {
        try {
            return at(x, weights, dtype);
        } catch (const std::domain_error&) {
        } catch (const Error&) {
        }
        return {};
    }

    std::vector<Values> nearby(std::uint64_t seed, double times = 1) const {
        std::vector<Values> near;
        for (const Values& x : x_) near.push_back(shaken(type_, x, seed + near.size(), times));
        return near;
    }

    // Whether the rules give another result for the same input, with another call in between. A
    // plain function may sum in any order.
    bool remembers(const Run& narrow) const {
        at(x_, rounded_to(type_, random_weights(w_.size(), seed_ + 3)), type_.dtype);
        const Run again = at(x_, w_, type_.dtype);
        for (std::size_t i = 0; i < x_.size() && narrow.finite; ++i) {
            const Values &once = narrow.gradients[i], &twice = again.gradients[i];
            const double allowed = narrow.plain ? type_.resolution * largest(once) : 0;
            for (std::size_t j = 0; j < once.size(); ++j) {
                const bool same = once[j] == twice[j] ||
                                  (std::isnan(once[j]) && std::isnan(twice[j])) ||
                                  std::abs(once[j] - twice[j]) <= allowed;
                if (!same) return true;
            }
        }
        return false;
    }

    // The largest change of an entry of each narrow gradient with the last bits of inputs and
    // cotangent.
    std::vector<double> largest_changes(const Run& narrow) const {
        std::vector<double> moved(x_.size(), 0.0);
        for (std::uint64_t k = 0; k < kShakes; ++k) {
            const Values w = shaken(type_, w_, seed_ + 10 * k + 9);
            std::optional<Run> other = if_defined(nearby(seed_ + 10 * k), w, type_.dtype);
            // Where the last bits select the branch, they are not changed.
            if (!other || other->branch != narrow.branch) other = at(x_, w, type_.dtype);
            for (std::size_t i = 0; i < x_.size(); ++i) {
                for (std::size_t j = 0; j < x_[i].size(); ++j) {
                    const double change = std::abs(other->gradients[i][j] - narrow.gradients[i][j]);
                    if (std::isfinite(change)) moved[i] = std::max(moved[i], change);
                }
            }
        }
        return moved;
    }

    // How much the error of an entry varies near x: intermediate rounding in a function, and
    // branches that differ there, vary from point to point. A bug persists, and is as smooth as the
    // gradient.
    std::vector<double> changes_of_errors(const Run& narrow, const Run& exact) const {
        std::vector<double> changes(x_.size(), 0.0);
        for (std::uint64_t k = 0; k < kMoved; ++k) {
            const std::vector<Values> near = nearby(seed_ + 100 + 10 * k, std::exp2(k % 5));
            const std::optional<Run> there = if_defined(near, w_, type_.dtype);
            const std::optional<Run> right = if_defined(near, w_, DType::f64);
            if (!there || !right) continue;
            for (std::size_t i = 0; i < x_.size(); ++i) {
                for (std::size_t j = 0; j < x_[i].size(); ++j) {
                    const double here = narrow.gradients[i][j] - exact.gradients[i][j];
                    const double error = there->gradients[i][j] - right->gradients[i][j];
                    const double change = std::abs(error - here);
                    if (std::isfinite(change)) changes[i] = std::max(changes[i], change);
                }
            }
        }
        return changes;
    }

    PrecisionReport::Input input(std::size_t i, const Run& narrow, const Run& exact,
                                 const Run& other, double moved) const {
        const double elsewhere = largest(other.gradients[i]);
        const double natural = largest(w_) * largest(values_) / typical_size(x_[i]);
        auto found = compare(type_, narrow.gradients[i], exact.gradients[i], moved, natural,
                             narrow.loudest, elsewhere);
        found.name = leaves_[i].first;
        found.shape = leaves_[i].second.shape();
        if (!found.worst.empty()) found.worst = index_text(found.shape, std::stoll(found.worst));
        const bool overflow =
            !narrow.finite || (narrow.plain && !is_finite(narrow.gradients[i])) ||
            !is_finite(exact.gradients[i]) || largest(exact.gradients[i]) > type_.largest ||
            (largest(exact.gradients[i]) < type_.smallest && largest(exact.gradients[i]) > 0);
        if (found.verdict != Verdict::pass && (overflow || narrow.branch != exact.branch)) {
            found.verdict = Verdict::inconclusive;
            found.reason = overflow ? Reason::not_finite : Reason::kink;
        }
        return found;
    }

    const TwoPrecisions& f_;
    std::uint64_t seed_;
    Narrow type_;
    NamedTensors leaves_ = {};
    std::vector<Values> original_ = {};
    std::vector<Values> x_ = {};  // rounded to the narrow type
    std::vector<GeneratorLog::State> generators_ = {};
    Values values_ = {};
    Values w_ = {};
};

}  // namespace

PrecisionReport compare_precisions(const TwoPrecisions& f, std::uint64_t seed, DType narrow) {
    const RepeatedRun trial;
    return PrecisionCheck(f, seed, narrow).run();
}

PrecisionReport compare_precisions(const TensorFunction& f, const Tensors& inputs,
                                   std::uint64_t seed, DType dtype) {
    refuse_overlaps(inputs);
    NamedTensors wide, narrow;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        require<DTypeError>(inputs[i].defined() && is_floating(inputs[i].dtype()),
                            "compare_precisions: input {} is not of a floating-point type", i);
        const std::string name = fmt::format("input {}", i);
        const Values values = inputs[i].to_vector<double>();
        wide.emplace_back(name, as(values, inputs[i].shape(), DType::f64).set_requires_grad());
        narrow.emplace_back(name, as(values, inputs[i].shape(), dtype).set_requires_grad());
    }
    Tensors x;
    const auto leaves = [&](DType wanted) {
        const NamedTensors& chosen = wanted == DType::f64 ? wide : narrow;
        x.clear();
        for (const auto& [name, leaf] : chosen) x.push_back(leaf);
        return chosen;
    };
    return compare_precisions({leaves, [&] { return f(x); }}, seed, dtype);
}

}  // namespace tapestry
