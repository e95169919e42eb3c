// A character model of generated stories that several experiments train: four layers of width 128
// with the norm first, as people train them, but assembled from parts, so attention may have any
// width and scale of scores.
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/tapestry.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tapestry::experiments {

struct Characters {
    std::int64_t vocab = 0;
    std::shared_ptr<const TextData> data;
};

/// The characters of about `bytes` of stories; the last tenth is held out.
Characters story_characters(std::size_t bytes = 400'000);

struct TextModelConfig {
    std::int64_t vocab = 0;
    std::int64_t context = 32;
    std::int64_t layers = 4;
    std::int64_t dim = 128;
    std::int64_t heads = 2;
    std::int64_t head_dim = 0;         ///< d_k; dim / heads if 0
    std::optional<double> scale = {};  ///< of the scores; 1 / sqrt(d_k) if not given
    /// Factor of the initial W_Q and W_K, whose products have the variance of the input by default:
    /// components of q and k then have variance 1.
    double query_key_factor = 1;
};

/// x [B, T, C] -> [B, T, C]: h = x + attention(norm(x)), h + network(norm(h)).
class TextBlock : public Module {
public:
    LayerNorm attention_norm;
    MultiHeadAttention attention;
    LayerNorm network_norm;
    FeedForward network;

    TextBlock(const TextModelConfig& config, Generator& generator);
    Tensor operator()(const Tensor& x) const;
};

/// ids [B, T] -> logits [B, T, V].
class TextModel : public Module {
public:
    Embedding token;
    PositionalEncoding position;
    std::vector<std::unique_ptr<TextBlock>> blocks;
    LayerNorm final_norm;
    Linear head;

    TextModel(const TextModelConfig& config, Generator& generator);
    Tensor operator()(const Tensor& ids) const;
};

struct TextTraining {
    std::int64_t steps = 200;
    std::int64_t batch = 8;
    std::int64_t context = 32;
    double rate = 2e-3;
    std::uint64_t seed = 1;
};

/// Trains with AdamW, gradients clipped to norm 1, a rate that warms up over a tenth of the steps
/// and decays to a twentieth. Numbers: "loss", held out, nats per character; curve "losses". The
/// loss of a run that diverges is that of guessing.
Measured train_characters(const Module& model,
                          const std::function<Tensor(const Tensor& ids)>& logits,
                          const Characters& text, const TextTraining& training);

}  // namespace tapestry::experiments
