// Normalisation: of each vector along the last axis (layer norm, RMS norm), or of channels (batch
// norm, with its running statistics, and group norm). Read next: ops/norm.h, the formulas.
#pragma once

#include <tapestry/nn/module/config_fields.h>
#include <tapestry/nn/module/module.h>

namespace tapestry {

/// A norm of each vector.
enum class NormKind {
    layer,  ///< LayerNorm
    rms     ///< RMSNorm
};

template <>
struct NamesOf<NormKind> {
    static constexpr EnumNames<NormKind, 2> list{
        {{NormKind::layer, "layer"}, {NormKind::rms, "rms"}}};
};

/// (x - mean) / sqrt(var + eps) * weight + bias over the last axis, which has `dim` entries.
/// Source: Ba, Kiros and Hinton 2016, "Layer Normalization".
class LayerNorm : public Module {
public:
    Tensor weight;  ///< [dim], ones
    Tensor bias;    ///< [dim], zeros; undefined if there is none

    /// Throws ValueError unless dim > 0.
    explicit LayerNorm(std::int64_t dim, double eps = 1e-5, bool with_bias = true);
    Tensor operator()(const Tensor& x) const;  ///< x [..., dim] -> the same shape
    std::string settings() const override;

private:
    double eps_;
};

/// x / sqrt(mean(x^2) + eps) * weight over the last axis.
/// Source: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization".
class RMSNorm : public Module {
public:
    Tensor weight;  ///< [dim], ones

    /// Throws ValueError unless dim > 0.
    explicit RMSNorm(std::int64_t dim, double eps = 1e-6);
    Tensor operator()(const Tensor& x) const;  ///< x [..., dim] -> the same shape
    std::string settings() const override;

private:
    double eps_;
};

/// LayerNorm with a bias, or RMSNorm, for blocks whose configuration says which.
class VectorNorm : public Module {
public:
    Tensor weight;  ///< [dim], ones
    Tensor bias;    ///< [dim], zeros; undefined for RMS norm

    /// Throws ValueError unless dim > 0.
    VectorNorm(NormKind kind, std::int64_t dim, double eps);
    Tensor operator()(const Tensor& x) const;  ///< x [..., dim] -> the same shape
    std::string settings() const override;

private:
    NormKind kind_;
    double eps_;
};

// ---- channels -----------------------------------------------------------------------------------

/// Options of BatchNorm1d and BatchNorm2d.
struct BatchNormOptions {
    double eps = 1e-5;      ///< added to the variance, at least 0
    double momentum = 0.1;  ///< weight of each batch in the running statistics
};

/// Base of BatchNorm1d and BatchNorm2d: batch_norm() of x [N, C, ...], with the batch's statistics
/// in training and the running ones in evaluation. In training, these move by
///     running = (1 - momentum) running + momentum batch,
/// with the unbiased variance, as in PyTorch:
///
/// - once per forward pass, with or without a tape; not when recompute() runs the module again
///   for the same step, nor under gradcheck() (autograd/recompute.h);
/// - once per batch or micro-batch if a step sums over several, in the order of these leaves: a
///   left fold, regardless of the number of threads and processes. Each is normalised separately.
///   With micro-batches they stay unchanged until all of the step's gradients are complete;
/// - not in evaluation.
///
/// They are buffers, saved with the parameters and in checkpoints. A step that is refused because
/// its loss or gradient was not finite (DivergedError) leaves the parameters unchanged, but its
/// forward pass counts. Source: Ioffe and Szegedy 2015, "Batch Normalization".
class BatchNorm : public Module {
public:
    Tensor weight;               ///< [C], ones
    Tensor bias;                 ///< [C], zeros
    Tensor running_mean;         ///< [C], initially zeros; a buffer
    Tensor running_var;          ///< [C], initially ones; a buffer
    Tensor num_batches_tracked;  ///< i64: number of moves; a buffer

    /// In training, throws ShapeError as batch_norm() does.
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

protected:
    /// `kind`: "BatchNorm2d". Throws as BatchNorm1d does.
    BatchNorm(const char* kind, std::int64_t channels, const BatchNormOptions& options);
    /// Throws ShapeError for an x of another rank.
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

/// group_norm() of x [N, C, ...]: the same in training and evaluation, for any batch size. Source:
/// Wu and He 2018, "Group Normalization".
class GroupNorm : public Module {
public:
    Tensor weight;  ///< [C], ones
    Tensor bias;    ///< [C], zeros

    /// Throws ValueError unless groups divides channels, both are positive, and eps >= 0.
    GroupNorm(std::int64_t groups, std::int64_t channels, double eps = 1e-5);
    /// x [N, C, ...] -> the same shape. Throws as group_norm() does.
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

private:
    std::int64_t groups_;
    double eps_;
};

}  // namespace tapestry
