// The tape entry that all reductions share: which axes were reduced, and how a result is put back
// beside its input. Internal to ops.
#pragma once

#include <tapestry/autograd/tape.h>
#include <tapestry/ops/reduce_axes.h>
#include <tapestry/ops/view.h>

namespace tapestry {

struct ReductionOp : Op {
    ReductionOp(std::string name, const AxisMask& axes, const TensorRefs& saved = {})
        : Op(std::move(name), saved), mask(axes) {}

    /// A tensor of the output's shape as [.., 1, ..], so that it broadcasts against the input.
    Tensor kept(const Tensor& t) const {
        return reshape(t, reduced_shape(inputs()[0].shape, mask, true));
    }

    Tensor repeated(const Tensor& t) const { return expand(kept(t), inputs()[0].shape); }

    std::string attributes() const override {
        std::string text = "axes=[";
        for (int axis = 0; axis < inputs()[0].shape.rank(); ++axis) {
            if (!mask[static_cast<std::size_t>(axis)]) continue;
            text += fmt::format("{}{}", text.back() == '[' ? "" : ", ", axis);
        }
        return text + "]";
    }

    double flops() const override { return static_cast<double>(numel(inputs()[0].shape)); }

    AxisMask mask;
};

}  // namespace tapestry
