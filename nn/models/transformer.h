// The Transformer of "Attention Is All You Need": an encoder reads a sequence, and a decoder that
// attends to it writes another. Its configuration is a list of fields, as gpt_config.h is for a
// GPT. Read next: nn/transformer/blocks.h, encoder and decoder.
#pragma once

#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/feed_forward.h>
#include <tapestry/nn/layers/rotary.h>
#include <tapestry/nn/module/config_fields.h>
#include <tapestry/nn/transformer/blocks.h>

#include <cstdint>

namespace tapestry {

/// A Transformer's configuration. FieldsOf<TransformerConfig> has meaning and bounds of every
/// field.
struct TransformerConfig {
    std::int64_t source_vocab = 0;  ///< tokens that it reads
    std::int64_t target_vocab = 0;  ///< tokens that it writes
    std::int64_t dim = 512;         ///< C, width of the model
    std::int64_t heads = 8;         ///< H, of the queries; divides dim
    std::int64_t kv_heads = 0;      ///< of keys and values, each used by heads / kv_heads; 0: heads
    std::int64_t layers = 6;        ///< of the encoder, and of the decoder
    std::int64_t hidden = 0;        ///< of the feed-forward networks; 4 dim if 0
    /// Probability, in training: on embeddings, attention weights and residual branches.
    double dropout = 0.1;
    Activation activation = Activation::relu;  ///< of the feed-forward networks
    bool norm_first = false;  ///< x + f(norm(x)) instead of the paper's norm(x + f(x))
    bool bias = true;         ///< whether norms and linear layers have biases
    Positions positions = Positions::sinusoidal;  ///< how the model knows the order of tokens
    std::int64_t max_length = 0;                  ///< rows of the table of learned positions
    double rotary_base = 10000;  ///< for rotary positions (nn/layers/rotary.h), as are the next two
    double rotary_share = 1;     ///< fraction of a head's elements that rotate, in (0, 1]
    RotaryPairs rotary_pairs = RotaryPairs::interleaved;  ///< which elements rotate together
    QKNorm qk_norm = QKNorm::none;                        ///< normalisation of queries and keys
    bool share_embeddings = false;  ///< one table for source and target, which share a vocabulary
    bool tied_head = true;          ///< the head's weight is the target embedding's
    std::int64_t padding_id = -1;   ///< the id that fills short sequences; -1: there is none
    /// Share of a target's probability that the loss spreads over all tokens.
    double label_smoothing = 0.1;
};

template <>
struct FieldsOf<TransformerConfig> {
    using C = TransformerConfig;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("source_vocab", &C::source_vocab, "Size of the source vocabulary",
              {.low = 1, .required = true});
        field("target_vocab", &C::target_vocab, "Size of the target vocabulary",
              {.low = 1, .required = true});
        field("dim", &C::dim, "Width of the model; a multiple of the heads",
              {.low = 1, .required = true});
        field("heads", &C::heads, "Attention heads per layer", {.low = 1, .required = true});
        field("kv_heads", &C::kv_heads,
              "Key and value heads, shared by groups of heads; 0: one per head", {.low = 0});
        field("layers", &C::layers, "Layers of the encoder, and as many of the decoder",
              {.low = 1, .required = true});
        field("hidden", &C::hidden, "Width of the feed-forward networks; 0: 4 dim",
              {.low = 0, .required = true});
        field("dropout", &C::dropout, "Dropout probability",
              {.low = 0, .high = 0.99, .required = true});
        field("activation", &C::activation, "Activation of the feed-forward networks");
        field("norm_first", &C::norm_first,
              "Norms before attention and feed-forward networks, not after", {.required = true});
        field("bias", &C::bias, "Biases in linear layers and norms", {.required = true});
        field("positions", &C::positions, "Position encoding");
        field("max_length", &C::max_length, "Number of learned positions",
              {.low = 0, .required = true});
        field("rotary_base", &C::rotary_base, "Base of the rotary frequencies", {.low = 1});
        field("rotary_share", &C::rotary_share, "Share of each head's dimensions that is rotated",
              {.low = 0, .high = 1});
        field("rotary_pairs", &C::rotary_pairs, "Which dimensions form a pair for the rotation");
        field("qk_norm", &C::qk_norm, "Norm of queries and keys, per head");
        field("share_embeddings", &C::share_embeddings,
              "Share one embedding between source and target", {.required = true});
        field("tied_head", &C::tied_head, "Share the target embedding's weight with the head",
              {.required = true});
        field("padding_id", &C::padding_id, "Id that pads short sequences; -1: none",
              {.low = -1, .required = true});
        field("label_smoothing", &C::label_smoothing,
              "Label smoothing: probability spread over all tokens",
              {.low = 0, .high = 1, .required = true});
    }
};

/// Total number of parameters; a double, because a configuration from a file may be absurd.
double parameter_count(const TransformerConfig& config);

// ---- the model ----------------------------------------------------------------------------------

/// Optional inputs of decoding, other than ids and memory.
struct TransformerDecodeInputs {
    std::vector<DecoderCache>* caches = nullptr;  ///< the ids continue those of earlier calls
    std::vector<DecoderRecord>* records =
        nullptr;  ///< resized to one per layer and filled if not null
};

/// source ids [B, S], target ids [B, T] -> logits [B, T, V] for the target's next tokens.
/// Embeddings are scaled by sqrt(dim), and positions added. Matrices are initially Glorot uniform,
/// embeddings normal with deviation 1 / sqrt(dim), biases 0. Source: Vaswani et al. 2017; sections
/// 3.4 (shared embeddings) and 5.4 (dropout, smoothing).
class Transformer : public Module {
public:
    Embedding source_embedding;                          ///< [V_source, C]
    Embedding target_embedding;                          ///< [V_target, C]
    std::optional<PositionalEncoding> source_positions,  ///< if positions are added
        target_positions;                                ///< if positions are added
    Dropout embedding_dropout;                           ///< after the embeddings, in training
    Encoder encoder;                                     ///< reads the source
    Decoder decoder;                                     ///< writes the target
    Linear head;                                         ///< [V_target, C], no bias

    /// Throws ValueError for sizes that are not positive, shared embeddings with two different
    /// vocabularies, learned positions without max_length, and as MultiHeadAttention does.
    explicit Transformer(const TransformerConfig& config,
                         Generator& generator = default_generator());

    /// source i64 [B, S] -> memory [B, S, C].
    Tensor encode(const Tensor& source, std::vector<AttentionRecord>* records = nullptr) const;

    /// target i64 [B, T], the tokens so far, and the memory of `source` -> logits [B, T, V].
    Tensor decode(const Tensor& target, const Tensor& memory, const Tensor& source,
                  const TransformerDecodeInputs& inputs = {}) const;

    /// The logits of decode(target, encode(source), source).
    Tensor operator()(const Tensor& source, const Tensor& target) const;

    /// Mean cross-entropy of predicting next [B, T] after target [B, T], label-smoothed; excludes
    /// positions whose `next` is the padding id.
    Tensor loss(const Tensor& source, const Tensor& target, const Tensor& next) const;

    const TransformerConfig& config() const { return config_; }  ///< as given
    std::string settings() const override;

private:
    void initialise(Generator& generator);
    Tensor embed(const Embedding& table, const std::optional<PositionalEncoding>& positions,
                 const Tensor& ids, std::int64_t first) const;
    Tensor memory_mask(const Tensor& source) const;

    TransformerConfig config_;
};

}  // namespace tapestry
