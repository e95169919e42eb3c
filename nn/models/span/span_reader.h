// A model that answers a question by pointing at a span of a passage: an encoder reads both, and
// every token of the passage has a score for being the first of the answer and one for being the
// last. Read next: nn/train/answer/answer_task.h, which trains it.
//
// Source: Devlin et al. 2018, "BERT: Pre-training of Deep Bidirectional Transformers", section 4.2.
// Positions are rotary by default (nn/layers/rotary.h) and norms are first, unlike BERT's.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/layers/dropout.h>
#include <tapestry/nn/models/span/span_config.h>
#include <tapestry/nn/transformer/blocks.h>

#include <optional>
#include <vector>

namespace tapestry {

/// ids i64 [B, T], each row [CLS] question [SEP] passage [SEP] padding -> scores [B, 2, T], that
/// the answer begins and that it ends at a token:
///     x = token + side (+ position),  h = encoder(x),  scores = (h W + b)^T
/// The sides are the question, with its marks, and the passage. Scores outside the passage are
/// lowered by 1e9.
class SpanReader : public Module {
public:
    Embedding token_embedding;                             ///< [V, C]
    Embedding side_embedding;                              ///< [2, C]
    std::optional<PositionalEncoding> position_embedding;  ///< if positions are added
    Dropout embedding_dropout;                             ///< of the sum, in training
    Encoder encoder;                                       ///< layers of blocks, norm first
    Linear ends;                                           ///< [2, C]

    /// Throws ValueError for sizes that are not positive or heads that do not divide dim.
    explicit SpanReader(const SpanConfig& config, Generator& generator = default_generator());

    /// ids -> scores. Throws ShapeError and DTypeError for other ids, IndexError for ids outside
    /// the vocabulary, ValueError for a row without the two [SEP] or with an empty passage.
    Tensor operator()(const Tensor& ids, std::vector<AttentionRecord>* records = nullptr) const;
    /// ids, and the first and last token of the answers, i64 [B, 2] -> the mean of both
    /// cross-entropies.
    Tensor loss(const Tensor& ids, const Tensor& spans) const;

    std::int64_t begin_id() const { return config_.vocab - 3; }      ///< [CLS]
    std::int64_t separator_id() const { return config_.vocab - 2; }  ///< [SEP]
    std::int64_t padding_id() const { return config_.vocab - 1; }    ///< after the last [SEP]

    const SpanConfig& config() const { return config_; }  ///< as given
    /// Sets the compute type of later calls.
    void compute_in(ComputeType type) { config_.compute = type; }
    std::string settings() const override;

private:
    SpanConfig config_;
};

/// The place of the passage among the tokens of a row.
struct PassagePlace {
    std::int64_t first = 0;  ///< its first token
    std::int64_t end = 0;    ///< the mark after its last
};

/// The passage in each row of ids i64 [B, T], between its first two `separator`. Throws ValueError
/// for a row without two of them or with nothing between.
std::vector<PassagePlace> passage_places(const Tensor& ids, std::int64_t separator);

}  // namespace tapestry
