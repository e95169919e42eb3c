// compare_precisions() of functions over plain arrays, as ops on a tape.
#include <tapestry/autograd/check/precision.h>

#include <tapestry/autograd/check/box.h>
#include <tapestry/autograd/check/plain_op.h>

#include <fmt/format.h>

#include <utility>

namespace tapestry {
namespace {

using namespace checker;

Shape output_of(const PlainRule& wide, const PlainInputs& inputs, const Shape& asked) {
    const auto count = static_cast<std::int64_t>(wide.f(inputs).size());
    const Shape output = asked.empty() ? Shape{count} : asked;
    require<ShapeError>(numel(output) == count,
                        "compare_precisions: f gave {} numbers for a shape of {}", count, output);
    return output;
}

}  // namespace

PrecisionReport compare_precisions(const PlainRule& narrow, const PlainRule& wide,
                                   const PlainInputs& inputs, DType dtype,
                                   const PlainPrecisionOptions& options) {
    require<DTypeError>(is_half(dtype), "compare_precisions: {} is not bf16 or f16", dtype);
    const PlainCheck what{.shapes = options.shapes, .output = {}, .names = {}};
    const NamedTensors leaves = plain_leaves(inputs, what);
    const std::vector<Box> boxes = Box::of(leaves, options.bounds);
    const Shape output = output_of(wide, inputs, options.output);
    const auto f = [&](const Tensors& x) {
        for (std::size_t i = 0; i < x.size(); ++i) {
            require(boxes[i].contains(x[i].to_vector<double>()),
                    "compare_precisions: {}, rounded to {}, is outside its bounds", leaves[i].first,
                    dtype);
        }
        const PlainRule& rule = x[0].dtype() == dtype ? narrow : wide;
        return apply_plain(x, rule.f, rule.pullback, output);
    };
    Tensors x;
    for (const auto& [name, leaf] : leaves) x.push_back(leaf.detach());
    return compare_precisions(f, x, options.seed, dtype);
}

}  // namespace tapestry
