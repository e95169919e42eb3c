#include <tapestry/nn/layers/low_rank.h>

#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/matmul.h>

#include <algorithm>
#include <cmath>

namespace tapestry {

double low_rank_scale(const LowRankConfig& config) {
    const auto rank = static_cast<double>(config.rank);
    return config.alpha / (config.rank_stabilized ? std::sqrt(rank) : rank);
}

void check_low_rank(const LowRankConfig& config, std::int64_t in, std::int64_t out) {
    require(in > 0 && out > 0, "LoRA: a matrix [{}, {}]", out, in);
    require(config.rank >= 1, "LoRA: the rank must be at least 1, got {}", config.rank);
    require(config.dropout >= 0 && config.dropout < 1,
            "LoRA: the dropout must be in [0, 1), got {}", config.dropout);
    require(config.alpha > 0 && std::isfinite(config.alpha),
            "LoRA: alpha must be positive and finite, got {}", config.alpha);
}

LowRank::LowRank(std::int64_t in, std::int64_t first, std::int64_t out, const LowRankConfig& config,
                 DType dtype, Generator& generator)
    : Module("LowRank"), config_(config), first_(first), dropout_(config.dropout, generator) {
    check_low_rank(config, in, out);
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    a = tapestry::to(uniform({config.rank, in}, -bound, bound, generator), dtype);
    b = zeros({out, config.rank}, dtype);
    register_parameter("a", a);
    register_parameter("b", b);
    register_module("dropout", dropout_);
}

Tensor LowRank::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    const Tensor narrow = linear(dropout_(x), cast_like(x, a));  // [..., r]
    return hooked(linear(narrow * low_rank_scale(config_), cast_like(x, b)), x);
}

LowRankUpdate LowRank::update(const Tensor& x) const {
    const ModuleScope scope(name());
    const bool drops = is_training() && config_.dropout > 0;
    return {cast_like(x, a), cast_like(x, b), low_rank_scale(config_), first_,
            drops ? dropout_(x) : Tensor()};
}

std::string LowRank::settings() const {
    return fmt::format("{} -> {} -> {}", a.size(1), config_.rank, b.size(0));
}

}  // namespace tapestry
