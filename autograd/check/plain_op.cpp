#include <tapestry/autograd/check/plain_op.h>

#include <tapestry/autograd/check/whole_check.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry::checker {
namespace {

using Values = std::vector<double>;

constexpr double kAgreement = 1e-8;
constexpr double kApproximation = 1e-5;

// New memory of a million numbers costs as much as a cheap f.
void read_values(const Tensors& inputs, PlainInputs& values) {
    values.resize(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Tensor& x = inputs[i];
        if (x.dtype() != DType::f64 || !x.is_contiguous()) {
            values[i] = x.to_vector<double>();
        } else {
            values[i].assign(x.data<double>(), x.data<double>() + x.numel());
        }
    }
}

void require_shapes_of(const PlainInputs& x, const PlainInputs& slopes) {
    require<ShapeError>(slopes.size() == x.size(),
                        "check_pullback: gradients of {} inputs, where there are {}", slopes.size(),
                        x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (slopes[i].size() == x[i].size()) continue;
        fail<ShapeError>("check_gradient: the gradient has {} numbers for {} of {}",
                         slopes[i].size(), x[i].size(),
                         x.size() == 1 ? "x" : fmt::format("input {}", i));
    }
}

class PlainOp final : public Op {
public:
    PlainOp(const Tensors& inputs, const PlainFunctionOfInputs& f,
            const PlainPullbackOfInputs& pullback)
        : Op("function", inputs), f_(f), pullback_(pullback) {}

    Tensors forward(const Tensors& inputs) const override;

    Tensors backward(const Tensors& grads) override {
        PlainInputs x;
        for (std::size_t i = 0; i < inputs().size(); ++i) {
            x.push_back(saved(i).to_vector<double>());
        }
        const PlainInputs slopes = pullback_(x, grads[0].to_vector<double>());
        require_shapes_of(x, slopes);
        Tensors all;
        for (std::size_t i = 0; i < x.size(); ++i) {
            all.push_back(cast(tensor(slopes[i], inputs()[i].shape), inputs()[i].dtype));
        }
        return all;
    }

private:
    const PlainFunctionOfInputs& f_;  // not copied, to keep their state between calls visible
    const PlainPullbackOfInputs& pullback_;
};

Tensors PlainOp::forward(const Tensors& inputs) const {
    return {apply_plain(inputs, f_, pullback_, outputs()[0].shape)};
}

GradcheckOptions for_plain(GradcheckOptions options) {
    options.preconditions = false;  // plain functions have no threads or recomputation
    options.transpose = false;
    options.far_steps = false;
    constexpr double kCoarsest = 16;  // epsilons of a format that a passing entry may be off
    const Format format = std::exchange(options.format, Format::f64);
    const bool narrow = format != Format::f64;
    GradcheckLimits& limits = options.limits;
    limits.format = format;
    limits.lost_may_pass = narrow;
    // A gradient in a narrow format is right if it is next to the right number.
    limits.agreement = std::max(limits.agreement, narrow ? epsilon(format) : kAgreement);
    if (!narrow) limits.approximation = std::max(limits.approximation, kApproximation);
    if (narrow) limits.resolution = std::max(limits.resolution, kCoarsest * epsilon(format));
    options.reset = {};
    return options;
}

Values stored(Format format, Values x) {
    for (double& value : x) value = rounded(format, value);
    return x;
}

PlainInputs stored(Format format, PlainInputs inputs) {
    for (Values& x : inputs) x = stored(format, std::move(x));
    return inputs;
}

void refuse_overflow(Format format, const PlainInputs& inputs) {
    for (const Values& x : inputs) {
        for (std::size_t i = 0; i < x.size(); ++i) {
            require(!std::isfinite(x[i]) || std::isfinite(rounded(format, x[i])),
                    "check_gradient: x[{}] = {} is beyond {}", i, x[i], to_string(format));
        }
    }
}

// The call that repeats the check, in one line: with the numbers if they are few.
std::string call_again(const PlainCheck& what, const PlainInputs& inputs,
                       const GradcheckOptions& options) {
    constexpr std::size_t kFew = 16;
    const bool few = inputs.size() == 1 && inputs[0].size() <= kFew;
    const std::string x = few ? fmt::format("{{{}}}", fmt::join(inputs[0], ", "))
                              : (inputs.size() == 1 ? "x" : "inputs");
    std::string call = what.call;
    call.replace(call.find("{}"), 2, x + "{}");
    return call_text(call, options);
}

}  // namespace

Tensor apply_plain(const Tensors& inputs, const PlainFunctionOfInputs& f,
                   const PlainPullbackOfInputs& pullback, const Shape& output,
                   PlainInputs* reused) {
    // Taken away while f runs: f may check another function itself.
    PlainInputs numbers = reused != nullptr ? std::exchange(*reused, {}) : PlainInputs();
    read_values(inputs, numbers);
    const Values y = f(numbers);
    if (reused != nullptr) *reused = std::move(numbers);
    require<ShapeError>(static_cast<std::int64_t>(y.size()) == numel(output),
                        "check_gradient: f gave {} numbers, then {}", numel(output), y.size());
    Tensor result = cast(tensor(y, output), compute_dtype(inputs.at(0).dtype()));
    return record<PlainOp>(inputs, result, inputs, f, pullback);
}

NamedTensors plain_leaves(const PlainInputs& inputs, const PlainCheck& what) {
    require(!inputs.empty(), "check_pullback: there are no inputs");
    require<ShapeError>(what.shapes.empty() || what.shapes.size() == inputs.size(),
                        "check_pullback: {} shapes for {} inputs", what.shapes.size(),
                        inputs.size());
    NamedTensors leaves;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const std::string name = i < what.names.size() && inputs.size() == what.names.size()
                                     ? what.names[i]
                                     : fmt::format("input {}", i);
        require(!inputs[i].empty(), "check_gradient: {} is empty", name);
        const auto n = static_cast<std::int64_t>(inputs[i].size());
        const Shape shape =
            what.shapes.empty() || what.shapes[i].empty() ? Shape{n} : what.shapes[i];
        require<ShapeError>(numel(shape) == n, "check_gradient: {} numbers for a shape of {}", n,
                            shape);
        leaves.emplace_back(name, tensor(inputs[i], shape).set_requires_grad());
    }
    return leaves;
}

GradcheckReport check_plain(const PlainFunctionOfInputs& f, const PlainPullbackOfInputs& pullback,
                            const PlainInputs& inputs, const PlainCheck& what,
                            const GradcheckOptions& options) {
    const Format format = options.format;
    refuse_overflow(format, inputs);
    const auto reset = [&options] {
        if (options.reset) options.reset();
    };
    const PlainFunctionOfInputs value = [&](const PlainInputs& at) {
        reset();
        return format == Format::f64 ? f(at) : stored(format, f(stored(format, at)));
    };
    const PlainPullbackOfInputs back = [&](const PlainInputs& at, const Values& g) {
        reset();
        return pullback(at, g);
    };
    const NamedTensors leaves = plain_leaves(stored(format, inputs), what);
    const auto m =
        static_cast<std::int64_t>(value(PlainInputs(inputs)).size());  // may be written to
    require(m > 0, "check_gradient: f gave no numbers");
    const Shape usual = what.pairs ? Shape{m / 2, 2} : Shape{m};
    const Shape out = what.output.empty() ? usual : what.output;
    require<ShapeError>(numel(out) == m, "check_gradient: f gave {} numbers for a shape of {}", m,
                        out);
    Tensors x;
    for (const auto& [name, leaf] : leaves) x.push_back(leaf);
    PlainInputs reused;
    const Subject::Function function = [&] {
        return Tensors{apply_plain(x, value, back, out, &reused)};
    };
    const auto rule = [&back](const PlainInputs& at, const Values& g) {
        PlainInputs slopes = back(at, g);
        require_shapes_of(at, slopes);
        return slopes;
    };
    GradcheckReport report =
        check_function(function, leaves, what.subject, for_plain(options), {value, rule});
    if (format != Format::f64) report.subject += fmt::format(" in {}", to_string(format));
    report.reproduce = call_again(what, inputs, options);
    return report;
}

GradcheckReport check_plain(const PlainVectorFunction& f, const PlainPullback& pullback,
                            const std::vector<double>& x, const PlainCheck& what,
                            const GradcheckOptions& options) {
    return check_plain([&f](const PlainInputs& at) { return f(at[0]); },
                       [&pullback](const PlainInputs& at, const Values& g) {
                           return PlainInputs{pullback(at[0], g)};
                       },
                       PlainInputs{x}, what, options);
}

bool is_plain(const Op& op) { return dynamic_cast<const PlainOp*>(&op) != nullptr; }

}  // namespace tapestry::checker
