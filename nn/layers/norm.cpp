#include <tapestry/nn/layers/norm.h>

#include <tapestry/autograd/op.h>
#include <tapestry/autograd/recompute.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/layers/running_statistics.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/norm.h>

namespace tapestry {

LayerNorm::LayerNorm(std::int64_t dim, double eps, bool with_bias)
    : Module("LayerNorm"), eps_(eps) {
    require(dim > 0, "LayerNorm: size must be positive, got {}", dim);
    weight = ones({dim});
    if (with_bias) bias = zeros({dim});
    register_parameter("weight", weight);
    register_parameter("bias", bias);
}

Tensor LayerNorm::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(layer_norm(x, cast_like(x, weight), cast_like(x, bias), eps_), x);
}

std::string LayerNorm::settings() const { return fmt::format("{}", weight.size(0)); }

RMSNorm::RMSNorm(std::int64_t dim, double eps) : Module("RMSNorm"), eps_(eps) {
    require(dim > 0, "RMSNorm: size must be positive, got {}", dim);
    weight = ones({dim});
    register_parameter("weight", weight);
}

Tensor RMSNorm::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(rms_norm(x, cast_like(x, weight), eps_), x);
}

std::string RMSNorm::settings() const { return fmt::format("{}", weight.size(0)); }

VectorNorm::VectorNorm(NormKind kind, std::int64_t dim, double eps)
    : Module(kind == NormKind::rms ? "RMSNorm" : "LayerNorm"), kind_(kind), eps_(eps) {
    require(dim > 0, "{}: size must be positive, got {}", this->kind(), dim);
    weight = ones({dim});
    register_parameter("weight", weight);
    if (kind == NormKind::rms) return;
    bias = zeros({dim});
    register_parameter("bias", bias);
}

Tensor VectorNorm::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    const Tensor w = cast_like(x, weight);
    const bool is_rms = kind_ == NormKind::rms;
    return hooked(is_rms ? rms_norm(x, w, eps_) : layer_norm(x, w, cast_like(x, bias), eps_), x);
}

std::string VectorNorm::settings() const { return fmt::format("{}", weight.size(0)); }

BatchNorm::BatchNorm(const char* kind, std::int64_t channels, const BatchNormOptions& options)
    : Module(kind), options_(options) {
    require(channels > 0, "{}: channels must be positive, got {}", kind, channels);
    require(options.eps >= 0, "{}: eps must be >= 0, got {}", kind, options.eps);
    require(options.momentum >= 0 && options.momentum <= 1,
            "{}: momentum must be in [0, 1], got {}", kind, options.momentum);
    weight = ones({channels});
    bias = zeros({channels});
    running_mean = zeros({channels});
    running_var = ones({channels});
    num_batches_tracked = zeros({}, DType::i64);
    register_parameter("weight", weight);
    register_parameter("bias", bias);
    register_buffer("running_mean", running_mean);
    register_buffer("running_var", running_var);
    register_buffer("num_batches_tracked", num_batches_tracked);
}

Tensor BatchNorm::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    check_rank(x);
    // With narrow activations next to f32 parameters, the statistics are f32 too.
    const bool is_mixed = is_narrow(x.dtype()) && weight.dtype() != x.dtype();
    const Tensor from = is_mixed ? to(x, weight.dtype()) : x;
    if (!is_training()) {
        const ChannelStatistics running{running_mean, running_var};
        return hooked(to(batch_norm(from, running, weight, bias, options_.eps), x.dtype()), x);
    }
    ChannelStatistics batch;
    const Tensor y = hooked(to(batch_norm(from, weight, bias, options_.eps, &batch), x.dtype()), x);
    if (is_repeated_run()) return y;
    const NoGradGuard constants;
    const double n = static_cast<double>(x.numel() / x.size(1));
    update_running_statistics({.module = module_path(),
                               .running_mean = running_mean,
                               .running_var = running_var,
                               .count = num_batches_tracked,
                               .mean = batch.mean,
                               .var = mul(batch.var, n / (n - 1)),
                               .momentum = options_.momentum});
    return y;
}

std::string BatchNorm::settings() const { return fmt::format("{}", weight.size(0)); }

void BatchNorm1d::check_rank(const Tensor& x) const {
    require<ShapeError>(x.defined() && (x.rank() == 2 || x.rank() == 3),
                        "BatchNorm1d: needs an input [N, C] or [N, C, L], got {}", x.shape());
}

void BatchNorm2d::check_rank(const Tensor& x) const {
    require<ShapeError>(x.defined() && x.rank() == 4,
                        "BatchNorm2d: needs an input [N, C, H, W], got {}", x.shape());
}

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, double eps)
    : Module("GroupNorm"), groups_(groups), eps_(eps) {
    require(groups > 0 && channels > 0 && channels % groups == 0,
            "GroupNorm: {} groups do not divide {} channels", groups, channels);
    require(eps >= 0, "GroupNorm: eps must be >= 0, got {}", eps);
    weight = ones({channels});
    bias = zeros({channels});
    register_parameter("weight", weight);
    register_parameter("bias", bias);
}

Tensor GroupNorm::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(group_norm(x, groups_, cast_like(x, weight), cast_like(x, bias), eps_), x);
}

std::string GroupNorm::settings() const {
    return fmt::format("{} groups, {}", groups_, weight.size(0));
}

}  // namespace tapestry
