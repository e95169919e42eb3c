// A small task that attention can solve without other layers, and a model that learns it, with
// attention only or a whole layer: find the record with the query's sign and answer with its
// content. With several relations (colour and shape, say) a record has a sign for each, and the
// query asks for several records.
#pragma once

#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/feed_forward.h>
#include <tapestry/nn/layers/norm.h>

#include <functional>
#include <optional>

namespace tapestry::experiments {

struct RecallConfig {
    std::int64_t relations = 1;
    std::int64_t records = 8;    ///< S; distinct signs in each relation
    std::int64_t signs = 16;     ///< number of signs in each relation
    std::int64_t contents = 16;  ///< number of possible contents
    std::int64_t dim = 64;
    std::int64_t heads = 1;
    AttentionFormFactory form = {};
    /// Whether a residual connection and a feed-forward network follow attention, as in a
    /// Transformer's layer; attention is read linearly if not.
    bool whole_layer = false;
};

struct RecallBatch {
    Tensor signs;    ///< [R, B, S]
    Tensor content;  ///< [B, S]
    Tensor asked;    ///< [R, B]: the query's sign
    Tensor where;    ///< [B, R]: index of the record with that sign
    Tensor answers;  ///< [B, R]: that record's content
};

RecallBatch recall_batch(const RecallConfig& config, std::int64_t batch, Generator& generator);

/// Query and records are sums of embeddings, then attention, the rest of a layer, and a linear
/// layer.
class RecallModel : public Module {
public:
    std::vector<std::unique_ptr<Embedding>> signs;  // one per relation
    Embedding content;
    MultiHeadAttention attention;
    Linear answer;
    std::optional<LayerNorm> norm;       // of a whole layer
    std::optional<FeedForward> network;  // likewise

    RecallModel(const RecallConfig& config, Generator& generator);
    /// Logits [B, R, contents].
    Tensor operator()(const RecallBatch& batch, AttentionRecord* record = nullptr) const;
    Tensor loss(const RecallBatch& batch) const;
    /// Fraction of right answers per relation: [R].
    std::vector<double> accuracy(const RecallBatch& batch) const;

    const RecallConfig& config() const { return config_; }

private:
    RecallConfig config_;
};

/// The mean of the last tenth.
double mean_of_last_tenth(const std::vector<double>& losses);

/// Trains with AdamW and a learning rate that warms up and decays; returns the loss of each step.
std::vector<double> train_recall(RecallModel& model, std::int64_t steps, double rate,
                                 Generator& generator);

}  // namespace tapestry::experiments
