#include <tapestry/nn/layers/convolution.h>

#include <tapestry/nn/layers/linear.h>
#include <tapestry/ops/view.h>

#include <cmath>

namespace tapestry {
namespace {

void check_sizes(const char* module, std::int64_t in, std::int64_t out, std::int64_t groups,
                 const Size2d& kernel) {
    require(in > 0 && out > 0 && kernel.rows > 0 && kernel.columns > 0,
            "{}: sizes and kernel must be positive, got {} -> {}, kernel {}", module, in, out,
            kernel);
    require(groups > 0 && in % groups == 0 && out % groups == 0,
            "{}: {} groups do not divide {} -> {} channels", module, groups, in, out);
}

void check_steps(const char* module, const Size2d& stride, const Size2d& padding,
                 const Size2d& dilation) {
    require(stride.rows > 0 && stride.columns > 0, "{}: stride must be positive, got {}", module,
            stride);
    require(padding.rows >= 0 && padding.columns >= 0, "{}: padding must be >= 0, got {}", module,
            padding);
    require(dilation.rows > 0 && dilation.columns > 0, "{}: dilation must be positive, got {}",
            module, dilation);
}

// Uniform in +-1 / sqrt(number of inputs to each output).
Tensor drawn(const Shape& shape, const Shape& weight, Generator& generator) {
    const double inputs = static_cast<double>(numel(weight.sub(1, weight.rank())));
    const double bound = 1 / std::sqrt(inputs);
    return uniform(shape, -bound, bound, generator);
}

// ", stride 2, groups 4": the options that are not default.
std::string unusual(const Size2d& stride, const Size2d& padding, const Size2d& dilation,
                    std::int64_t groups, bool with_bias) {
    std::string text;
    const auto add = [&text](const char* what, const Size2d& value, std::int64_t usual) {
        if (value.rows != usual || value.columns != usual) {
            text += fmt::format(", {} {}", what, value);
        }
    };
    add("stride", stride, 1);
    add("padding", padding, 0);
    add("dilation", dilation, 1);
    add("groups", groups, 1);
    return with_bias ? text : text + ", no bias";
}

}  // namespace

Conv2d::Conv2d(std::int64_t in, std::int64_t out, const Size2d& kernel,
               const Conv2dOptions& options, bool with_bias, Generator& generator)
    : Module("Conv2d"), options_(options) {
    check_sizes("Conv2d", in, out, options.groups, kernel);
    check_steps("Conv2d", options.stride, options.padding, options.dilation);
    const Shape shape{out, in / options.groups, kernel.rows, kernel.columns};
    weight = drawn(shape, shape, generator);
    if (with_bias) bias = drawn({out}, shape, generator);
    register_parameter("weight", weight);
    register_parameter("bias", bias);
}

Tensor Conv2d::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(conv2d(x, cast_like(x, weight), cast_like(x, bias), options_), x);
}

std::string Conv2d::settings() const {
    return fmt::format("{} -> {}, {} x {}{}", weight.size(1) * options_.groups, weight.size(0),
                       weight.size(2), weight.size(3),
                       unusual(options_.stride, options_.padding, options_.dilation,
                               options_.groups, bias.defined()));
}

Conv1d::Conv1d(std::int64_t in, std::int64_t out, std::int64_t kernel, const Conv1dOptions& options,
               bool with_bias, Generator& generator)
    : Module("Conv1d"), options_(options) {
    check_sizes("Conv1d", in, out, options.groups, kernel);
    check_steps("Conv1d", options.stride, options.padding, options.dilation);
    require(!options.causal || options.padding == 0,
            "Conv1d: causal has its own padding; padding must be 0, got {}", options.padding);
    const Shape shape{out, in / options.groups, kernel};
    weight = drawn(shape, shape, generator);
    if (with_bias) bias = drawn({out}, shape, generator);
    register_parameter("weight", weight);
    register_parameter("bias", bias);
}

Tensor Conv1d::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(conv1d(x, cast_like(x, weight), cast_like(x, bias), options_), x);
}

std::string Conv1d::settings() const {
    return fmt::format("{} -> {}, {}{}{}", weight.size(1) * options_.groups, weight.size(0),
                       weight.size(2),
                       unusual(options_.stride, options_.padding, options_.dilation,
                               options_.groups, bias.defined()),
                       options_.causal ? ", causal" : "");
}

// ---- pooling ------------------------------------------------------------------------------------

namespace {

std::string described(const Size2d& kernel, const Pool2dOptions& options) {
    std::string text = fmt::format("{}", kernel);
    if (options.stride.rows != 0 || options.stride.columns != 0) {
        text += fmt::format(", stride {}", options.stride);
    }
    if (options.padding.rows != 0 || options.padding.columns != 0) {
        text += fmt::format(", padding {}", options.padding);
    }
    return options.ceil_mode ? text + ", ceil" : text;
}

}  // namespace

Tensor MaxPool2d::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(max_pool2d(x, kernel_, options_), x);
}

std::string MaxPool2d::settings() const { return described(kernel_, options_); }

Tensor AvgPool2d::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(avg_pool2d(x, kernel_, options_, count_padding_), x);
}

std::string AvgPool2d::settings() const {
    return described(kernel_, options_) + (count_padding_ ? "" : ", padding does not count");
}

Tensor Flatten::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    require<ShapeError>(x.defined() && x.rank() >= 2, "Flatten: needs an input [N, C, ...], got {}",
                        x.shape());
    return hooked(flatten(x, 1), x);
}

}  // namespace tapestry
