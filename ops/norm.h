// Normalisation: of rows over the last axis (to mean 0 and deviation 1, or to root mean square 1),
// and of channels, over a batch or over groups of channels of each image.
//
// All tensors are floating-point and share a dtype (DTypeError). weight and bias are [C]; undefined
// ones count as ones and zeros. For the norms over the last axis x is [..., C]; they throw
// ShapeError for a scalar x or another weight shape. Rows whose squares leave the range of the type
// are scaled, and the rounding of a mean far from zero is corrected. Read next: norm.cpp,
// channel_norm.cpp; kernels/norm.h has the gradients.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// y = (x - mean) / sqrt(var + eps) weight + bias, where mean and var (the biased variance) are
/// over x's last axis (Ba, Kiros and Hinton, 2016). Gradients: with u the normalised x and h = g
/// weight: dx = (h - mean(h) - u mean(h u)) / sqrt(var + eps), dweight = sum g u over rows,
/// dbias = sum g over rows. Throws ValueError unless eps >= 0.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

/// y = x / sqrt(mean(x^2) + eps) weight (Zhang and Sennrich, 2019). Gradients as for layer_norm,
/// without mean(h).
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, double eps = 1e-6);

// ---- channels: batch norm and group norm --------------------------------------------------------
// x is [N, C, ...]: rows [N, C], sequences [N, C, L], images [N, C, H, W]. Sums have a fixed order:
// the same bits for any number of threads. Read next: nn/layers/norm.h (the modules, which keep
// running statistics).

/// A mean and a variance for each channel, [C].
struct ChannelStatistics {
    Tensor mean;  ///< of each channel, [C]
    Tensor var;   ///< biased variance of each channel, [C]
};

/// y = (x - mean) / sqrt(var + eps) weight + bias, where mean and var (the biased variance, the
/// mean square deviation) are per channel, over the batch and all pixels; `batch`, if not null,
/// receives them as constants. For training; for evaluation see below. Gradients: with u the
/// normalised x and h = g weight: dx = (h - mean(h) - u mean(h u)) / sqrt(var + eps), dweight = sum
/// g u, dbias = sum g. Throws ShapeError for an x without channels or with fewer than two numbers
/// per channel, which have no variance, and for another weight shape; ValueError unless eps >= 0.
/// Source: Ioffe and Szegedy 2015, "Batch Normalization".
Tensor batch_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5, ChannelStatistics* batch = nullptr);

/// The same with given statistics, such as running averages from training: for evaluation.
/// Gradients also flow to these. Errors as above, but one number per channel is enough.
Tensor batch_norm(const Tensor& x, const ChannelStatistics& given, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);

/// The formula of batch_norm, with the C channels of each image in `groups` groups: mean and var
/// are per image and group, over its C / groups channels and all pixels. One group is layer norm
/// over an image; as many groups as channels is instance norm. A group of one number gives the
/// bias, where batch_norm throws. Gradients as for batch_norm. Throws ShapeError for an x without
/// channels or another weight shape, ValueError unless eps >= 0 and groups divides C. Source: Wu
/// and He 2018, "Group Normalization".
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);

/// group_norm with a group per channel: mean and var are per image and channel. Gradients and
/// errors as for group_norm. Source: Ulyanov et al. 2016, "Instance Normalization".
Tensor instance_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                     double eps = 1e-5);

}  // namespace tapestry
