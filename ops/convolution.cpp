// Three ops of one sum (convolution_loops.h), each with the other two as its gradients, so these
// rules serve every order.
#include <tapestry/ops/convolution.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/convolution_loops.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/staging.h>
#include <tapestry/ops/view.h>

#include <algorithm>

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

// `what` names the weight's first axis. Without channels there is one group: a huge number of them
// times the second axis would overflow.
void check_groups(std::string_view op, const Tensor& weight, std::int64_t groups,
                  const char* what) {
    const std::int64_t channels = weight.size(0);
    require(groups >= 1, "{}: groups must be positive, got {}", op, groups);
    require(channels % groups == 0 && groups <= std::max<std::int64_t>(channels, 1),
            "{}: {} groups do not divide the {} {} of weight {}", op, groups, channels, what,
            weight.shape());
}

void check_channels(std::string_view op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                    std::int64_t groups) {
    check_groups(op, weight, groups, "outputs");
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
    if (options.causal) {
        require(options.padding == 0,
                "conv1d: causal has its own padding; padding must be 0, got {}", options.padding);
        const WindowAxis axis{x.size(2), weight.size(2), options.stride, 0, options.dilation};
        check_window_settings("conv1d", {.columns = axis, .axes = 1});
        Conv1dOptions plain = options;
        plain.causal = false;
        const std::int64_t before = options.dilation * (weight.size(2) - 1);
        return conv1d(pad(x, {{}, {}, {before, 0}}), weight, bias, plain);
    }
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

// ---- transposed ---------------------------------------------------------------------------------

namespace {

// Along one axis: where the convolution that is reversed has its windows, in the larger image.
WindowAxis enlarged(std::string_view op, std::int64_t size, std::int64_t kernel,
                    std::int64_t stride, std::int64_t padding, std::int64_t dilation,
                    std::int64_t added) {
    constexpr std::int64_t kMost = std::int64_t{1} << 31;  // products then fit 64 bits
    require(stride >= 1 && dilation >= 1 && padding >= 0 && stride < kMost && dilation < kMost &&
                padding < kMost,
            "{}: stride and dilation must be positive and padding 0 or more, got {}, {} and {}", op,
            stride, dilation, padding);
    require(added >= 0 && added < stride, "{}: output_padding must be less than the stride, got {}",
            op, added);
    require<ShapeError>(size > 0 && kernel > 0, "{}: input and kernel need elements, got {} and {}",
                        op, size, kernel);
    return {(size - 1) * stride - 2 * padding + dilation * (kernel - 1) + added + 1, kernel, stride,
            padding, dilation};
}

void check_transposed(std::string_view op, const Tensor& x, const Tensor& weight,
                      const Tensor& bias, std::int64_t groups) {
    require<ShapeError>(x.size(1) == weight.size(0),
                        "{}: input {} has {} channels; the weight {} takes {}", op, x.shape(),
                        x.size(1), weight.shape(), weight.size(0));
    check_groups(op, weight, groups, "inputs");
    const std::int64_t outputs = weight.size(1) * groups;
    require<ShapeError>(!bias.defined() || bias.shape() == Shape{outputs},
                        "{}: the bias is {}, the weight {} needs [{}]", op, bias.shape(),
                        weight.shape(), outputs);
}

}  // namespace

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose2dOptions& options) {
    constexpr std::string_view kOp = "conv_transpose2d";
    check_types(kOp, x, weight, bias);
    require<ShapeError>(x.rank() == 4, "{}: needs an input [N, C, H, W], got {}", kOp, x.shape());
    require<ShapeError>(weight.rank() == 4,
                        "{}: the weight must be [in, out / groups, rows, columns], got {}", kOp,
                        weight.shape());
    check_transposed(kOp, x, weight, bias, options.groups);
    const Windows windows{
        .rows = enlarged(kOp, x.size(2), weight.size(2), options.stride.rows, options.padding.rows,
                         options.dilation.rows, options.output_padding.rows),
        .columns = enlarged(kOp, x.size(3), weight.size(3), options.stride.columns,
                            options.padding.columns, options.dilation.columns,
                            options.output_padding.columns)};
    require<ShapeError>(windows.rows.size > 0 && windows.columns.size > 0,
                        "{}: input {} with kernel {} x {}, padding {} gives an output of {} x {}",
                        kOp, x.shape(), weight.size(2), weight.size(3), options.padding,
                        windows.rows.size, windows.columns.size);
    const Shape image{x.size(0), weight.size(1) * options.groups, windows.rows.size,
                      windows.columns.size};
    const Plan plan{image, weight.shape(), x.shape(), windows, options.groups};
    const auto transpose = [&plan](const Tensor& small, const Tensor& w, const Tensor& b) {
        const Tensor y = convolve_to_input(small, w, plan);
        return b.defined() ? add(y, reshape(b, {1, b.size(0), 1, 1})) : y;
    };
    return is_narrow(x.dtype()) ? in_f32(transpose, x, weight, bias) : transpose(x, weight, bias);
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose1dOptions& options) {
    constexpr std::string_view kOp = "conv_transpose1d";
    check_types(kOp, x, weight, bias);
    require<ShapeError>(x.rank() == 3, "{}: needs an input [N, C, L], got {}", kOp, x.shape());
    require<ShapeError>(weight.rank() == 3,
                        "{}: the weight must be [in, out / groups, length], got {}", kOp,
                        weight.shape());
    check_transposed(kOp, x, weight, bias, options.groups);
    const WindowAxis axis = enlarged(kOp, x.size(2), weight.size(2), options.stride,
                                     options.padding, options.dilation, options.output_padding);
    require<ShapeError>(axis.size > 0,
                        "{}: input {} with kernel {}, padding {} gives an output of {}", kOp,
                        x.shape(), weight.size(2), options.padding, axis.size);
    return squeeze(conv_transpose2d(as_row(x), as_row(weight), bias,
                                    {.stride = {1, options.stride},
                                     .padding = {0, options.padding},
                                     .output_padding = {0, options.output_padding},
                                     .groups = options.groups,
                                     .dilation = {1, options.dilation}}),
                   2);
}

}  // namespace tapestry
