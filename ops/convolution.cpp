// Three ops of one sum (convolution_loops.h), each with the other two as its gradients, so these
// rules serve every order.
#include <tapestry/ops/convolution.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/convolution_loops.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/staging.h>
#include <tapestry/ops/view.h>

namespace tapestry {
namespace {

using convolution::Plan;

Tensor convolve(const Tensor& x, const Tensor& weight, const Tensor& bias, const Plan& plan);
Tensor convolve_to_input(const Tensor& grad, const Tensor& weight, const Plan& plan);
Tensor convolve_to_weight(const Tensor& x, const Tensor& grad, const Plan& plan);

struct ConvolutionOp : Op {
    ConvolutionOp(const char* name, const Tensor& a, const Tensor& b, const Plan& p)
        : Op(name, {a, b}), plan(p) {}
    std::string attributes() const override {
        const WindowAxis &rows = plan.windows.rows, &columns = plan.windows.columns;
        return fmt::format("kernel={} x {}, stride={}, padding={}, dilation={}, groups={}",
                           rows.kernel, columns.kernel, Size2d(rows.stride, columns.stride),
                           Size2d(rows.padding, columns.padding),
                           Size2d(rows.dilation, columns.dilation), plan.groups);
    }
    double flops() const override { return 2 * plan.products(); }
    Plan plan;
};

struct Conv2dOp final : ConvolutionOp {
    Conv2dOp(const Tensor& x, const Tensor& weight, const Plan& p)
        : ConvolutionOp("conv2d", x, weight, p) {}
    Tensors forward(const Tensors& x) const override { return {convolve(x[0], x[1], x[2], plan)}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& g = grads[0];
        return {needs(0) ? convolve_to_input(g, saved(1), plan) : Tensor(),
                needs(1) ? convolve_to_weight(saved(0), g, plan) : Tensor(),
                needs(2) ? sum(g, {0, 2, 3}) : Tensor()};
    }
};

struct ConvolveToInputOp final : ConvolutionOp {
    ConvolveToInputOp(const Tensor& grad, const Tensor& weight, const Plan& p)
        : ConvolutionOp("conv2d_to_input", grad, weight, p) {}
    Tensors forward(const Tensors& x) const override {
        return {convolve_to_input(x[0], x[1], plan)};
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor& v = grads[0];  // [N, C, H, W]
        return {needs(0) ? convolve(v, saved(1), {}, plan) : Tensor(),
                needs(1) ? convolve_to_weight(v, saved(0), plan) : Tensor()};
    }
};

struct ConvolveToWeightOp final : ConvolutionOp {
    ConvolveToWeightOp(const Tensor& x, const Tensor& grad, const Plan& p)
        : ConvolutionOp("conv2d_to_weight", x, grad, p) {}
    Tensors forward(const Tensors& x) const override {
        return {convolve_to_weight(x[0], x[1], plan)};
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor& v = grads[0];  // [O, C / G, h, w]
        return {needs(0) ? convolve_to_input(saved(1), v, plan) : Tensor(),
                needs(1) ? convolve(saved(0), v, {}, plan) : Tensor()};
    }
};

Tensor convolve(const Tensor& x, const Tensor& weight, const Tensor& bias, const Plan& plan) {
    Tensor y = convolution::output(x, weight, bias, plan);
    return record<Conv2dOp>({x, weight, bias}, y, x, weight, plan);
}

Tensor convolve_to_input(const Tensor& grad, const Tensor& weight, const Plan& plan) {
    Tensor dx = convolution::to_input(grad, weight, plan);
    return record<ConvolveToInputOp>({grad, weight}, dx, grad, weight, plan);
}

Tensor convolve_to_weight(const Tensor& x, const Tensor& grad, const Plan& plan) {
    Tensor dw = convolution::to_weight(x, grad, plan);
    return record<ConvolveToWeightOp>({x, grad}, dw, x, grad, plan);
}

// ---- checks and public functions ----------------------------------------------------------------

void check_types(std::string_view op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
    check_floating(op, x);
    check_same_dtype(op, x, weight);
    if (bias.defined()) check_same_dtype(op, x, bias);
}

void check_channels(std::string_view op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                    std::int64_t groups) {
    require(groups >= 1, "{}: groups must be positive, got {}", op, groups);
    require(weight.size(0) % groups == 0, "{}: {} groups do not divide the {} outputs of weight {}",
            op, groups, weight.size(0), weight.shape());
    require<ShapeError>(x.size(1) % groups == 0 && x.size(1) / groups == weight.size(1),
                        "{}: input {} has {} channels; the weight {} in {} {} takes {}", op,
                        x.shape(), x.size(1), weight.shape(), groups,
                        groups == 1 ? "group" : "groups", weight.size(1) * groups);
    require<ShapeError>(!bias.defined() || bias.shape() == Shape{weight.size(0)},
                        "{}: the bias is {}, the weight {} needs [{}]", op, bias.shape(),
                        weight.shape(), weight.size(0));
}

// [N, C, L] as images with one row
Tensor as_row(const Tensor& x) { return unsqueeze(x, 2); }

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv2dOptions& options) {
    check_types("conv2d", x, weight, bias);
    require<ShapeError>(x.rank() == 4, "conv2d: needs an input [N, C, H, W], got {}", x.shape());
    require<ShapeError>(weight.rank() == 4,
                        "conv2d: the weight must be [out, in / groups, rows, columns], got {}",
                        weight.shape());
    check_channels("conv2d", x, weight, bias, options.groups);
    const Windows windows{.rows = {x.size(2), weight.size(2), options.stride.rows,
                                   options.padding.rows, options.dilation.rows},
                          .columns = {x.size(3), weight.size(3), options.stride.columns,
                                      options.padding.columns, options.dilation.columns}};
    check_windows("conv2d", x.shape(), windows);
    const Shape output{x.size(0), weight.size(0), windows.rows.count(), windows.columns.count()};
    const Plan plan{x.shape(), weight.shape(), output, windows, options.groups};
    if (!is_narrow(x.dtype())) return convolve(x, weight, bias, plan);
    return in_f32([&plan](const Tensor& wide, const Tensor& w,
                          const Tensor& b) { return convolve(wide, w, b, plan); },
                  x, weight, bias);
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv1dOptions& options) {
    check_types("conv1d", x, weight, bias);
    require<ShapeError>(x.rank() == 3, "conv1d: needs an input [N, C, L], got {}", x.shape());
    require<ShapeError>(weight.rank() == 3,
                        "conv1d: the weight must be [out, in / groups, length], got {}",
                        weight.shape());
    check_channels("conv1d", x, weight, bias, options.groups);
    const Windows windows{
        .columns = {x.size(2), weight.size(2), options.stride, options.padding, options.dilation},
        .axes = 1};
    check_windows("conv1d", x.shape(), windows);
    return squeeze(conv2d(as_row(x), as_row(weight), bias,
                          {.stride = {1, options.stride},
                           .padding = {0, options.padding},
                           .dilation = {1, options.dilation},
                           .groups = options.groups}),
                   2);
}

}  // namespace tapestry
