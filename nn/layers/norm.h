// Normalisation: of each vector along the last axis (layer norm, RMS norm), or of channels (batch
// norm, with the statistics that it keeps, and group norm). Read next: ops/norm.h, the formulas.
#pragma once

#include <tapestry/nn/module/module.h>

namespace tapestry {

/// (x - mean) / sqrt(var + eps) * weight + bias over the last axis, which has `dim` entries.
/// Source: Ba, Kiros and Hinton 2016, "Layer Normalization".
class LayerNorm : public Module {
public:
    Tensor weight;  // [dim], ones
    Tensor bias;    // [dim], zeros; undefined if there is none

    explicit LayerNorm(std::int64_t dim, double eps = 1e-5, bool with_bias = true);
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

private:
    double eps_;
};

/// x / sqrt(mean(x^2) + eps) * weight over the last axis.
/// Source: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization".
class RMSNorm : public Module {
public:
    Tensor weight;  // [dim], ones

    explicit RMSNorm(std::int64_t dim, double eps = 1e-6);
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

private:
    double eps_;
};

// ---- channels -----------------------------------------------------------------------------------

struct BatchNormOptions {
    double eps = 1e-5;
    double momentum = 0.1;  ///< the share that each batch has in the running statistics
};

/// What BatchNorm1d and BatchNorm2d have in common: batch_norm() of x [N, C, ...], by the batch's
/// own statistics in training, by the running ones in evaluation. These move in training,
///     running = (1 - momentum) running + momentum batch,
/// the variance unbiased, as PyTorch's:
///
/// - once for each forward pass, with a tape or without; not when recompute() runs the module again
///   for the same step, nor under gradcheck() (autograd/recompute.h);
/// - where a step sums over several batches or micro-batches, once for each, in the order of these
///   leaves: a fold from the left, whatever the number of threads and processes. Each is normalised
///   by itself. With micro-batches they stand still until all gradients of the step are there;
/// - not in evaluation.
///
/// They are buffers: saved with the parameters, in checkpoints as well. A step that is refused
/// because its loss or gradient was not finite (DivergedError) leaves the parameters as they were,
/// but its forward pass was one. Source: Ioffe and Szegedy 2015, "Batch Normalization".
class BatchNorm : public Module {
public:
    Tensor weight;               // [C], ones
    Tensor bias;                 // [C], zeros
    Tensor running_mean;         // [C], zeros at the start; a buffer
    Tensor running_var;          // [C], ones at the start; a buffer
    Tensor num_batches_tracked;  // i64: how often they have moved; a buffer

    /// Throws ShapeError, in training, as batch_norm() does.
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

protected:
    BatchNorm(const char* kind, std::int64_t channels, const BatchNormOptions& options);
    virtual void check_rank(const Tensor& x) const = 0;

private:
    BatchNormOptions options_;
};

/// x [N, C] or [N, C, L]
class BatchNorm1d : public BatchNorm {
public:
    /// Throws ValueError unless channels > 0, eps >= 0 and 0 <= momentum <= 1.
    explicit BatchNorm1d(std::int64_t channels, const BatchNormOptions& options = {})
        : BatchNorm("BatchNorm1d", channels, options) {}

private:
    void check_rank(const Tensor& x) const override;
};

/// x [N, C, H, W]
class BatchNorm2d : public BatchNorm {
public:
    /// As BatchNorm1d.
    explicit BatchNorm2d(std::int64_t channels, const BatchNormOptions& options = {})
        : BatchNorm("BatchNorm2d", channels, options) {}

private:
    void check_rank(const Tensor& x) const override;
};

/// group_norm() of x [N, C, ...]: the same in training and evaluation, for a batch of any size.
/// Source: Wu and He 2018, "Group Normalization".
class GroupNorm : public Module {
public:
    Tensor weight;  // [C], ones
    Tensor bias;    // [C], zeros

    /// Throws ValueError unless groups divides channels, both are positive, and eps >= 0.
    GroupNorm(std::int64_t groups, std::int64_t channels, double eps = 1e-5);
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

private:
    std::int64_t groups_;
    double eps_;
};

}  // namespace tapestry
