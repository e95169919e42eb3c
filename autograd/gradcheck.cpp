#include <tapestry/autograd/gradcheck.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry {
namespace {

using ManyFunction = std::function<Tensors(const Tensors&)>;

double dot(const Tensor& a, const Tensor& b) {
    const auto x = a.to_vector<double>();
    const auto y = b.to_vector<double>();
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    return sum;
}

double weighted(const Tensors& outputs, const Tensors& weights) {
    double sum = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) sum += dot(outputs[i], weights[i]);
    return sum;
}

Tensors fresh_leaves(const Tensors& inputs) {
    Tensors leaves;
    for (const Tensor& input : inputs) {
        require<DTypeError>(
            input.defined() && input.dtype() != DType::f32,
            "gradcheck: inputs must be f64 (or i64 and bool, which are held fixed); "
            "in f32 the differences are mostly roundoff");
        Tensor leaf = input.clone();
        if (leaf.dtype() == DType::f64) leaf.set_requires_grad();
        leaves.push_back(leaf);
    }
    return leaves;
}

// Each evaluation has a tape of its own: gradgradcheck's function differentiates inside.
Tensors evaluate(const ManyFunction& f, const Tensors& inputs) {
    const Tape tape;
    return f(inputs);
}

// d<weights, f>/d(each input) by the tape; zeros where nothing depends on it.
Tensors analytic_gradients(const ManyFunction& f, const Tensors& leaves, const Tensors& weights) {
    Tape tape;
    const Tensors outputs = f(leaves);
    Tensors asked;
    for (const Tensor& leaf : leaves) {
        if (leaf.requires_grad()) asked.push_back(leaf);
    }
    Tensors sums;
    for (const Tensor& leaf : asked) sums.push_back(zeros(leaf.shape(), DType::f64));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!tape.follows(outputs[i])) continue;
        const Tensors grads =
            tape.gradient(outputs[i], asked, {.cotangent = weights[i], .retain = true});
        for (std::size_t j = 0; j < grads.size(); ++j)
            accumulate_gradients_in_place(sums[j], grads[j]);
    }
    return sums;
}

// (<w, f(x + h e)> - <w, f(x - h e)>) / 2h for each entry e of one leaf.
std::vector<double> numeric_gradient(const ManyFunction& f, const Tensors& leaves,
                                     const Tensors& weights, Tensor leaf, double step) {
    std::vector<double> slopes;
    const std::int64_t count = leaf.numel();
    for (std::int64_t i = 0; i < count; ++i) {
        const double x = leaf.data<double>()[i];
        const double h = step * std::max(1.0, std::abs(x));
        const auto at = [&](double value) {
            leaf.mutable_data<double>()[i] = value;
            return weighted(evaluate(f, leaves), weights);
        };
        const double above = at(x + h);
        const double below = at(x - h);
        leaf.mutable_data<double>()[i] = x;
        slopes.push_back((above - below) / ((x + h) - (x - h)));
    }
    return slopes;
}

std::string index_text(const Shape& shape, std::int64_t flat) {
    Shape index = shape;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        index[axis] = flat % shape[axis];
        flat /= shape[axis];
    }
    return fmt::format("{}", index);
}

GradcheckResult compare(std::size_t input, const Tensor& leaf, const std::vector<double>& analytic,
                        const std::vector<double>& numeric, const GradcheckOptions& options,
                        std::string_view other = "central differences") {
    GradcheckResult result;
    double scale = 1;
    for (const double value : numeric) scale = std::max(scale, std::abs(value));
    for (std::size_t i = 0; i < numeric.size(); ++i) {
        const double error = std::abs(analytic[i] - numeric[i]);
        const double allowed = options.atol * scale + options.rtol * std::abs(numeric[i]);
        const double relative = std::isnan(error) ? INFINITY : error / scale;
        const bool bad = !(error <= allowed);
        if (bad && (result.ok || relative > result.worst)) {
            result.ok = false;
            result.message = fmt::format(
                "input {} {} at {}: the tape says {:.10g}, {} {:.10g} (allowed difference {:.2g})",
                input, leaf.shape(), index_text(leaf.shape(), static_cast<std::int64_t>(i)),
                analytic[i], other, numeric[i], allowed);
        }
        result.worst = std::max(result.worst, relative);
    }
    return result;
}

GradcheckResult check_many(const ManyFunction& f, const Tensors& inputs,
                           const GradcheckOptions& options) {
    const Tensors leaves = fresh_leaves(inputs);
    const Tensors outputs = evaluate(f, leaves);
    Generator generator(options.seed);
    Tensors weights;
    for (const Tensor& y : outputs) {
        require<DTypeError>(y.dtype() == DType::f64, "gradcheck: the function gave {}, not f64",
                            y.dtype());
        weights.push_back(randn(y.shape(), generator, DType::f64));
    }
    const double once = weighted(outputs, weights);
    const double again = weighted(evaluate(f, leaves), weights);
    require(once == again || (std::isnan(once) && std::isnan(again)),
            "gradcheck: the function gives {} and then {} for the same inputs: it is random, or "
            "keeps something between calls",
            once, again);

    const Tensors analytic = analytic_gradients(f, leaves, weights);
    GradcheckResult total;
    std::size_t next = 0;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (!leaves[i].requires_grad()) continue;
        const auto numeric = numeric_gradient(f, leaves, weights, leaves[i], options.step);
        const auto found =
            compare(i, leaves[i], analytic[next++].to_vector<double>(), numeric, options);
        if (!found.ok && (total.ok || found.worst > total.worst)) total.message = found.message;
        total.ok = total.ok && found.ok;
        total.worst = std::max(total.worst, found.worst);
    }
    return total;
}

// df/dx by the tape that records, the cotangent being the last input.
Tensors first_order(const TensorFunction& f, const Tensors& x_and_v, bool create_graph) {
    const Tensors x(x_and_v.begin(), x_and_v.end() - 1);
    Tape& tape = *Tape::current();
    const Tensor y = f(x);
    if (!tape.follows(y)) return {};
    Tensors asked;
    for (const Tensor& leaf : x) {
        if (leaf.requires_grad()) asked.push_back(leaf);
    }
    return tape.gradient(y, asked, {.cotangent = x_and_v.back(), .create_graph = create_graph});
}

// A rule may have two forms (is_recording(), autograd/tape.h): do they agree?
GradcheckResult compare_forms(const TensorFunction& f, const Tensors& x_and_v,
                              const GradcheckOptions& options) {
    const Tensors leaves = fresh_leaves(x_and_v);
    const auto gradients = [&](bool create_graph) {
        return evaluate([&](const Tensors& x) { return first_order(f, x, create_graph); }, leaves);
    };
    const Tensors recorded = gradients(true);
    const Tensors plain = gradients(false);
    std::size_t next = 0;
    for (std::size_t i = 0; i + 1 < leaves.size() && next < plain.size(); ++i) {
        if (!leaves[i].requires_grad()) continue;
        const auto found =
            compare(i, leaves[i], recorded[next].to_vector<double>(),
                    plain[next].to_vector<double>(), options, "walking back without recording");
        if (!found.ok) return found;
        ++next;
    }
    return {};
}

}  // namespace

GradcheckResult gradcheck(const TensorFunction& f, const Tensors& inputs,
                          const GradcheckOptions& options) {
    return check_many([&f](const Tensors& x) { return Tensors{f(x)}; }, inputs, options);
}

GradcheckResult gradgradcheck(const TensorFunction& f, const Tensors& inputs,
                              const GradcheckOptions& options) {
    // (x, v) -> v^T df/dx, whose gradients are the second derivatives of f and f's Jacobian.
    const Tensor y = f(inputs);
    Generator generator(options.seed + 1);
    Tensors x_and_v = inputs;
    x_and_v.push_back(randn(y.shape(), generator, DType::f64));
    const auto recorded = [&f](const Tensors& x) { return first_order(f, x, true); };
    const GradcheckResult result = check_many(recorded, x_and_v, options);
    const GradcheckResult forms = compare_forms(f, x_and_v, options);
    return forms.ok ? result : forms;
}

}  // namespace tapestry
