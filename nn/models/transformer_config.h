// The configuration of an encoder-decoder, and its cost. The list of fields below is the only
// source for config.json, the command line, error messages and docs/modules.md. Read next:
// transformer.h, the model.
#pragma once

#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/feed_forward.h>
#include <tapestry/nn/layers/rotary.h>
#include <tapestry/nn/models/model_types.h>

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
    /// Rows of the table of learned positions; 0 for other kinds: no limit. A task holds both sides
    /// of its pairs to it.
    std::int64_t max_length = 0;
    double rotary_base = 10000;  ///< for rotary positions (nn/layers/rotary.h), as are the next two
    double rotary_share = 1;     ///< fraction of a head's elements that rotate, in (0, 1]
    RotaryPairs rotary_pairs = RotaryPairs::interleaved;  ///< which elements rotate together
    QKNorm qk_norm = QKNorm::none;                        ///< normalisation of queries and keys
    bool share_embeddings = false;  ///< one table for source and target, which share a vocabulary
    bool tied_head = true;          ///< the head's weight is the target embedding's
    std::int64_t padding_id = -1;   ///< the id that fills short sequences; -1: there is none
    /// Share of a target's probability that the loss spreads over all tokens.
    double label_smoothing = 0.1;
    /// Byte pairs that a run learns, at most, as the vocabulary of both sides; 0: characters.
    std::int64_t pieces = 0;
    ComputeType compute = ComputeType::f32;  ///< type of activations and matrix products
    /// Type of the parameters, and so of gradients and moments; with bf16 the model computes in
    /// bf16.
    ComputeType weights = ComputeType::f32;
};

template <>
struct FieldsOf<TransformerConfig> {
    using C = TransformerConfig;
    using Enums = Types<Activation, ComputeType, Positions, QKNorm, RotaryPairs>;
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
        field("max_length", &C::max_length,
              "Longest input and output, and the number of learned positions; 0: no limit",
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
        field("pieces", &C::pieces,
              "Tokens of the vocabulary, at most, that is learned as byte pairs from the examples; "
              "0: characters",
              {.low = 0, .high = 1 << 20, .stored = false});
        list_types<C>(field);
    }
};

/// Total number of parameters; a double, because a configuration from a file may be absurd.
double parameter_count(const TransformerConfig& config);

/// Estimated peak memory of training, in bytes, for pairs of max_length tokens each, or 64 if there
/// is no limit; the arguments are those of gpt_config.h.
double training_bytes(const TransformerConfig& config, std::int64_t batch,
                      std::int64_t gradient_sets = 1, std::int64_t moments = 2);

/// Floating-point operations of the matrix products of a step on pairs of this many tokens.
double step_flops(const TransformerConfig& config, std::int64_t batch, double source,
                  double target);

/// The same for pairs as long as training_bytes() assumes.
double step_flops(const TransformerConfig& config, std::int64_t batch);

}  // namespace tapestry
