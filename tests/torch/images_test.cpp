// Convolution, pooling, batch and group norm against PyTorch's.
#include <tapestry/core/create.h>
#include <tapestry/nn/layers/convolution.h>
#include <tapestry/nn/layers/norm.h>
#include <tapestry/ops/pooling.h>
#include <tapestry/tests/torch/check.h>

using namespace tapestry;
using torch::Named;
using torch::Names;

namespace {

template <class M>
void check(const std::string& name, M&& module) {
    torch::check_against("images", name, module, Names::same, [&](const Named& in) -> Named {
        return {{"y", module(in.at("x"))}};
    });
}

void check_function(const std::string& name, const std::function<Tensor(const Tensor&)>& f) {
    torch::check_against("images", name, [&](const Named& in) -> Named {
        return {{"y", f(in.at("x"))}};
    });
}

// Starts from fresh statistics each time: outputs are computed with and without a tape.
template <class M>
void check_training(const std::string& name, M&& norm) {
    torch::check_against("images", name, norm, Names::same, [&](const Named& in) -> Named {
        norm.running_mean.fill_(0);
        norm.running_var.fill_(1);
        const Tensor y = norm(in.at("x"));
        return {{"y", y},
                {"running_mean", norm.running_mean.clone()},
                {"running_var", norm.running_var.clone()}};
    });
}

}  // namespace

TEST_CASE("torch: Conv2d, Conv1d") {
    check("conv2d", Conv2d(3, 4, {3, 2}));
    check("conv2d/no_bias", Conv2d(2, 3, 1, {}, false));
    check("conv2d/steps",
          Conv2d(2, 3, 3, {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}}));
    check("conv2d/groups", Conv2d(4, 6, 3, {.padding = 1, .groups = 2}));
    check("conv2d/depthwise", Conv2d(3, 6, 3, {.padding = 1, .groups = 3}));
    check("conv2d/digits", Conv2d(1, 16, 3, {.padding = 1}));
    check("conv1d", Conv1d(3, 4, 3));
    check("conv1d/steps", Conv1d(4, 2, 3, {.stride = 2, .padding = 2, .dilation = 2, .groups = 2}));
}

TEST_CASE("torch: pooling and interpolation") {
    const Pool2dOptions steps{.stride = {2, 1}, .padding = 1};
    const Pool1dOptions along{.stride = 2, .padding = 1};
    check_function("max_pool2d", [](const Tensor& x) { return max_pool2d(x, 2); });
    check_function("max_pool2d/overlapping", [&](const Tensor& x) {
        return max_pool2d(x, {3, 2}, steps);
    });
    check_function("max_pool1d", [&](const Tensor& x) { return max_pool1d(x, 3, along); });
    check_function("avg_pool2d", [](const Tensor& x) { return avg_pool2d(x, 2); });
    check_function("avg_pool2d/padding", [&](const Tensor& x) {
        return avg_pool2d(x, {3, 2}, steps);
    });
    check_function("avg_pool2d/inside", [](const Tensor& x) {
        return avg_pool2d(x, 3, {.stride = 2, .padding = 1}, false);
    });
    check_function("avg_pool1d", [&](const Tensor& x) { return avg_pool1d(x, 3, along); });
    check_function("interpolate/nearest", [](const Tensor& x) { return interpolate(x, {7, 3}); });
    check_function("interpolate/bilinear", [](const Tensor& x) {
        return interpolate(x, {7, 3}, Interpolation::bilinear);
    });
}

TEST_CASE("torch: BatchNorm1d, BatchNorm2d, GroupNorm") {
    check_training("batch_norm1d", BatchNorm1d(5));
    check_training("batch_norm1d/sequences", BatchNorm1d(3, {.momentum = 0.3}));
    check_training("batch_norm2d", BatchNorm2d(4, {.eps = 1e-2}));
    BatchNorm2d evaluated(3);
    evaluated.eval();
    evaluated.running_mean.copy_(tensor<float>({0, 0.25, 0.5}));
    evaluated.running_var.copy_(tensor<float>({0.5, 1, 1.5}));
    check("batch_norm2d/evaluation", evaluated);
    check("group_norm", GroupNorm(2, 6));
    check("group_norm/layer", GroupNorm(1, 3, 0.1));
}
