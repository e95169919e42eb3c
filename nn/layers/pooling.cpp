#include <tapestry/nn/layers/pooling.h>

#include <tapestry/ops/view.h>

namespace tapestry {
namespace {

std::string described(const Size2d& kernel, const Pool2dOptions& options) {
    std::string text = fmt::format("{}", kernel);
    if (options.stride.rows != 0 || options.stride.columns != 0) {
        text += fmt::format(", stride {}", options.stride);
    }
    if (options.padding.rows != 0 || options.padding.columns != 0) {
        text += fmt::format(", padding {}", options.padding);
    }
    return text;
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
