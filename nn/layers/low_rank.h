// LoRA's update of a linear layer: two small matrices whose product is added to a weight that stays
// as it is. Read next: nn/models/lora.h, which adds them to a model.
#pragma once

#include <tapestry/nn/layers/dropout.h>
#include <tapestry/ops/low_rank_linear.h>

namespace tapestry {

/// Settings of low-rank updates.
struct LowRankConfig {
    std::int64_t rank = 8;         ///< r
    double alpha = 16;             ///< the update's factor is alpha / r
    double dropout = 0;            ///< on the update's input, in training
    bool rank_stabilized = false;  ///< a factor of alpha / sqrt(r) instead
};

/// The update's factor: alpha / r, or alpha / sqrt(r).
double low_rank_scale(const LowRankConfig& config);
/// Throws ValueError unless a matrix [out, in] can have such an update: see LowRank.
void check_low_rank(const LowRankConfig& config, std::int64_t in, std::int64_t out);

/// x [..., in] -> scale (dropout(x) A^T) B^T [..., out]. A is uniform in +-1/sqrt(in), B is 0:
/// training begins with the model as it was. Sources: Hu et al. 2021, "LoRA: Low-Rank
/// Adaptation of Large Language Models"; Kalajdzievski 2023, "A Rank Stabilization Scaling Factor
/// for Fine-Tuning with LoRA"; the initial A is that of PEFT.
class LowRank : public Module {
public:
    Tensor a;  ///< [r, in]
    Tensor b;  ///< [out, r]

    /// For rows [first, first + out) of a layer's output. A rank above min(in, out) is allowed, as
    /// in PEFT, though the update's is not higher. Throws ValueError for a rank below 1, an alpha
    /// that is not positive,
    /// and as Dropout does.
    LowRank(std::int64_t in, std::int64_t first, std::int64_t out, const LowRankConfig& config,
            DType dtype, Generator& generator);

    Tensor operator()(const Tensor& x) const;  ///< x [..., in] -> [..., out]
    /// The same for low_rank_linear(), which adds it to the layer's output; hooks do not see it.
    LowRankUpdate update(const Tensor& x) const;
    std::string settings() const override;

    std::int64_t first_row() const { return first_; }        ///< of the layer's output
    const LowRankConfig& config() const { return config_; }  ///< as given

private:
    LowRankConfig config_;
    std::int64_t first_;
    Dropout dropout_;
};

}  // namespace tapestry
