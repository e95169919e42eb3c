#include <tapestry/autograd/check/whole_check.h>

#include <tapestry/core/create.h>

namespace tapestry {
namespace {

using namespace checker;

// (leaves, v) -> v^T df/d(leaves)
GradcheckReport second_order(const std::function<Tensor()>& f, NamedTensors leaves,
                             const GradcheckOptions& options) {
    GradcheckOptions first = options;
    first.transpose = true;
    first.method = GradcheckMethod::directions;
    first.certainty = 0.5;
    Subject once([&f] { return Tensors{f()}; }, leaves);
    once.set_budget(std::make_shared<Budget>(options.limits));
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
    second.dual = {};
    second.transpose = false;
    second.preconditions = false;  // checked above
    const auto gradient = [f, asked, v] {
        const Tensor y = f();
        Tape& tape = *Tape::current();
        if (!tape.follows(y)) return Tensors{};
        return tape.gradient(y, asked, {.cotangent = v, .create_graph = true});
    };
    return check_function(gradient, leaves, "order 2", second);
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
