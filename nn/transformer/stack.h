// A stack of blocks: the body of a GPT, and of an encoder.
#pragma once

#include <tapestry/nn/transformer/block.h>

#include <memory>
#include <optional>
#include <vector>

namespace tapestry {

struct TransformerStackConfig {
    std::int64_t layers = 6;
    TransformerLayerConfig layer = {};
    bool final_norm = false;  ///< one more norm at the end, which norm_first layers need
    /// In training keep the input of each block alone and compute the rest again on the way back
    /// (autograd/recompute.h): a third more time for a fraction of the memory, the same bits.
    /// Calls with caches or records do not.
    bool recompute = false;
};

/// What a stack may be given besides x.
struct TransformerStackInputs {
    Tensor mask = {};  ///< the same for all layers
    /// One per layer: an empty vector is filled (ShapeError for another number).
    std::vector<KeyValueCache>* caches = nullptr;
    std::vector<AttentionRecord>* records = nullptr;
};

/// Block after block, [B, T, C] -> [B, T, C].
class TransformerStack : public Module {
public:
    std::vector<std::unique_ptr<TransformerBlock>> layers;
    std::optional<LayerNorm> norm;

    /// Throws ValueError for fewer than one layer.
    explicit TransformerStack(const TransformerStackConfig& config,
                              Generator& generator = default_generator());
    Tensor operator()(const Tensor& x, const TransformerStackInputs& inputs = {}) const;

private:
    bool recompute_;
};

}  // namespace tapestry
