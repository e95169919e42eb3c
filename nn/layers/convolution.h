// Convolutions, pooling and flattening as modules. The functions are in ops/convolution.h,
// ops/pooling.h and ops/view.h; global average pooling is mean(x, {2, 3}).
// Read next: norm.h, batch norm.
//
//     Sequential network;                                       // images [N, 1, 8, 8]
//     network.add<Conv2d>(1, 16, 3, Conv2dOptions{.padding = 1});
//     network.add<BatchNorm2d>(16);
//     network.add<ReLU>();
//     network.add<MaxPool2d>(2);                                // [N, 16, 4, 4]
//     network.add<Flatten>();                                   // [N, 256]
//     network.add<Linear>(256, 10);
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/ops/convolution.h>
#include <tapestry/ops/pooling.h>

namespace tapestry {

/// x [N, in, H, W] -> [N, out, P, Q] with a kernel of `kernel` pixels; see conv2d() for P and Q.
/// Weight [out, in / groups, rows, columns] and bias [out] start uniform in +-1 / sqrt(in / groups
/// rows columns), as PyTorch's.
class Conv2d : public Module {
public:
    Tensor weight;  ///< [out, in / groups, rows, columns]
    Tensor bias;    ///< [out]; undefined if there is none

    /// Throws ValueError for sizes, strides or dilations that are not positive, a negative padding,
    /// and groups that do not divide both numbers of channels.
    Conv2d(std::int64_t in, std::int64_t out, const Size2d& kernel,
           const Conv2dOptions& options = {}, bool with_bias = true,
           Generator& generator = default_generator());

    /// The same, with a bias.
    Conv2d(std::int64_t in, std::int64_t out, const Size2d& kernel, const Conv2dOptions& options,
           Generator& generator)
        : Conv2d(in, out, kernel, options, true, generator) {}

    /// x [N, in, H, W] -> [N, out, P, Q]. Throws as conv2d() does.
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

private:
    Conv2dOptions options_;
};

/// The same along one axis: x [N, in, L] -> [N, out, P]; weight [out, in / groups, kernel].
class Conv1d : public Module {
public:
    Tensor weight;  ///< [out, in / groups, kernel]
    Tensor bias;    ///< [out]; undefined if there is none

    /// Throws as Conv2d does.
    Conv1d(std::int64_t in, std::int64_t out, std::int64_t kernel,
           const Conv1dOptions& options = {}, bool with_bias = true,
           Generator& generator = default_generator());

    /// The same, with a bias.
    Conv1d(std::int64_t in, std::int64_t out, std::int64_t kernel, const Conv1dOptions& options,
           Generator& generator)
        : Conv1d(in, out, kernel, options, true, generator) {}

    /// x [N, in, L] -> [N, out, P]. Throws as conv1d() does.
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

private:
    Conv1dOptions options_;
};

// ---- pooling ------------------------------------------------------------------------------------

/// x [N, C, H, W] -> [N, C, P, Q]: max_pool2d().
class MaxPool2d : public Module {
public:
    /// Sizes out of range are errors of the first call.
    explicit MaxPool2d(const Size2d& kernel, const Pool2dOptions& options = {})
        : Module("MaxPool2d"), kernel_(kernel), options_(options) {}
    /// x [N, C, H, W] -> [N, C, P, Q]. Throws as max_pool2d() does.
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

private:
    Size2d kernel_;
    Pool2dOptions options_;
};

/// x [N, C, H, W] -> [N, C, P, Q]: avg_pool2d().
class AvgPool2d : public Module {
public:
    /// Sizes out of range are errors of the first call.
    explicit AvgPool2d(const Size2d& kernel, const Pool2dOptions& options = {},
                       bool count_padding = true)
        : Module("AvgPool2d"), kernel_(kernel), options_(options), count_padding_(count_padding) {}
    /// x [N, C, H, W] -> [N, C, P, Q]. Throws as avg_pool2d() does.
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
    /// x [N, ...] -> [N, n]. Throws ShapeError for a scalar.
    Tensor operator()(const Tensor& x) const;
};

}  // namespace tapestry
