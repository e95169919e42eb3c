// Pooling and flattening as modules, for Sequential; elsewhere call the functions themselves
// (ops/pooling.h, ops/view.h). Global average pooling is mean(x, {2, 3}).
#pragma once

#include <tapestry/nn/module/module.h>
#include <tapestry/ops/pooling.h>

namespace tapestry {

/// x [N, C, H, W] -> [N, C, P, Q]: max_pool2d().
class MaxPool2d : public Module {
public:
    explicit MaxPool2d(const Size2d& kernel, const Pool2dOptions& options = {})
        : Module("MaxPool2d"), kernel_(kernel), options_(options) {}
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

private:
    Size2d kernel_;
    Pool2dOptions options_;
};

/// x [N, C, H, W] -> [N, C, P, Q]: avg_pool2d().
class AvgPool2d : public Module {
public:
    explicit AvgPool2d(const Size2d& kernel, const Pool2dOptions& options = {},
                       bool count_padding = true)
        : Module("AvgPool2d"), kernel_(kernel), options_(options), count_padding_(count_padding) {}
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

private:
    Size2d kernel_;
    Pool2dOptions options_;
    bool count_padding_;
};

/// x [N, ...] -> [N, the rest as one axis]
class Flatten : public Module {
public:
    Flatten() : Module("Flatten") {}
    Tensor operator()(const Tensor& x) const;
};

}  // namespace tapestry
