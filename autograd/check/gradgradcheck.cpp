#include <tapestry/autograd/check/whole_check.h>

#include <tapestry/core/create.h>

namespace tapestry {
namespace {

using namespace checker;

// One for each number: the cotangent's have none.
std::vector<Bounds> with_free_cotangent(const std::vector<Bounds>& bounds, const Tensors& leaves,
                                        const Tensor& v) {
    std::size_t numbers = 0;
    for (const Tensor& leaf : leaves) numbers += static_cast<std::size_t>(leaf.numel());
    std::vector<Bounds> all = bounds;
    if (bounds.size() == 1) all.assign(numbers, bounds[0]);
    all.resize(numbers + static_cast<std::size_t>(v.numel()));
    return all;
}

// (leaves, v) -> v^T df/d(leaves)
GradcheckReport second_order(const std::function<Tensor()>& f, NamedTensors leaves,
                             const GradcheckOptions& options) {
    require(!leaves.empty(), "gradcheck: there are no inputs");
    GradcheckOptions first = options;
    first.transpose = true;
    first.method = GradcheckMethod::directions;
    first.certainty = 0.5;
    const auto run = [&] {
        if (options.reset) options.reset();
        return Tensors{f()};
    };
    Subject once(run, leaves);
    const auto budget = std::make_shared<Budget>(options.limits);
    once.set_budget(budget);
    if (!options.far_steps || !options.bounds.empty()) once.stay_near(options.bounds);
    GradcheckReport forms = check_subject(once, first);
    forms.subject = "order 1, as recorded for order 2";
    forms.seed = options.seed;
    if (!forms) return forms;

    const Tensors asked = values_of(leaves);
    const Shape& output = once.output_shapes()[0];
    const Tensor v =
        tensor(random_weights(once.outputs(), options.seed + 1), output).set_requires_grad();
    leaves.emplace_back("cotangent", v);
    GradcheckOptions second = options;
    if (!options.bounds.empty()) second.bounds = with_free_cotangent(options.bounds, asked, v);
    second.dual = {};
    second.transpose = false;
    second.preconditions = false;  // checked above
    const auto gradient = [f, asked, v] {
        const Tensor y = f();
        Tape& tape = *Tape::current();
        if (!tape.follows(y)) return Tensors{};
        return tape.gradient(y, asked, {.cotangent = v, .create_graph = true});
    };
    GradcheckReport report = check_function(gradient, leaves, "order 2", second, {}, budget);
    report.runs += forms.runs;
    return report;
}

}  // namespace

GradcheckReport gradgradcheck(const std::function<Tensor()>& f, const NamedTensors& leaves,
                              const GradcheckOptions& options) {
    GradcheckReport report = second_order(f, leaves, options);
    report.reproduce = call_text("gradgradcheck(f, leaves{})", options);
    return report;
}

GradcheckReport gradgradcheck(const TensorFunction& f, const Tensors& inputs,
                              const GradcheckOptions& options) {
    const NamedTensors leaves = named_leaves(inputs);
    const Tensors x = values_of(leaves);
    GradcheckReport report = gradgradcheck([&f, &x] { return f(x); }, leaves, options);
    report.reproduce = call_text("gradgradcheck(f, inputs{})", options);
    return report;
}

}  // namespace tapestry
