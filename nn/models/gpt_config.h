// A GPT's configuration and its cost: parameters, memory, operations. The list of fields below is
// the only source for config.json, GPT-2's config.json, the command line, error messages and
// docs/modules.md. Read next: gpt.h, the model.
#pragma once

#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/feed_forward.h>
#include <tapestry/nn/layers/position_form.h>
#include <tapestry/nn/layers/rotary.h>
#include <tapestry/nn/models/model_types.h>

#include <cstdint>
#include <string>

namespace tapestry {

/// A GPT's configuration. FieldsOf<GPTConfig> has meaning and bounds of every field.
struct GPTConfig {
    std::int64_t vocab = 0;     ///< V, tokens in the vocabulary; at least 1
    std::int64_t context = 64;  ///< maximum number of tokens that it sees
    std::int64_t layers = 4;    ///< number of blocks
    std::int64_t heads = 4;     ///< H, of the queries; divides dim
    std::int64_t kv_heads = 0;  ///< of keys and values, each used by heads / kv_heads; 0: heads
    std::int64_t dim = 128;     ///< C, width of the model
    std::int64_t hidden = 0;    ///< of the feed-forward networks; 4 dim if 0
    /// Probability, in training: on residual branches, embeddings and attention weights.
    double dropout = 0;
    double embedding_dropout = -1;  ///< on embeddings, as some GPT-2s have it; -1: dropout
    double attention_dropout = -1;  ///< on attention weights; -1: dropout
    Activation activation = Activation::gelu_tanh;  ///< of the feed-forward networks
    Positions positions = Positions::learned;       ///< how the model knows the order of tokens
    /// Of positions: "none", or a name given to register_position_form(), with Positions::none.
    std::string position_form = "none";
    /// Of attention: "softmax", "window:64", ... (nn/attention/named_forms.h), or a name given to
    /// register_attention_form().
    std::string form = "softmax";
    double head_dropout = 0;  ///< probability, in training: on whole heads of a sequence
    /// Factor of the token embeddings, to which positions are added; 0: embedding_scale()'s.
    double embedding_scale = 0;
    double rotary_base = 10000;  ///< for rotary positions (nn/layers/rotary.h), as are the next two
    double rotary_share = 1;     ///< fraction of a head's elements that rotate, in (0, 1]
    RotaryPairs rotary_pairs = RotaryPairs::interleaved;  ///< which elements rotate together
    QKNorm qk_norm = QKNorm::none;                        ///< normalisation of queries and keys
    double norm_eps = 1e-5;                               ///< epsilon of all norms
    bool bias = true;         ///< whether norms and linear layers have biases
    bool tied_head = true;    ///< the head's weight is the token embedding's
    double deviation = 0.02;  ///< initial standard deviation of matrices; narrow models need more
    /// Initialises matrices that write to the residual stream to zero: each block starts as the
    /// identity.
    bool zero_outputs = false;
    std::int64_t earlier = 0;  ///< TokenHistoryConfig (nn/layers/embedding.h), as is the next
    std::int64_t pairs = 0;    ///< rows of TokenHistory's table of pairs; 0: none
    double softcap = 0;        ///< caps logits x as softcap tanh(x / softcap); 0: no cap
    bool recompute = false;    ///< recompute blocks in the backward pass (autograd/recompute.h)
    ComputeType compute = ComputeType::f32;  ///< type of activations
    /// Type of the parameters, and so of gradients and moments; with bf16 the model computes in
    /// bf16.
    ComputeType weights = ComputeType::f32;
};

template <>
struct FieldsOf<GPTConfig> {
    using C = GPTConfig;
    using Enums = Types<Activation, ComputeType, Positions, QKNorm, RotaryPairs>;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("vocab", &C::vocab, "Vocabulary size",
              {.low = 1, .required = true, .gpt2 = "vocab_size"});
        field("context", &C::context, "Context length in tokens",
              {.low = 1, .required = true, .gpt2 = "n_positions"});
        field("layers", &C::layers, "Transformer blocks",
              {.low = 1, .required = true, .gpt2 = "n_layer"});
        field("heads", &C::heads, "Attention heads per block",
              {.low = 1, .required = true, .gpt2 = "n_head"});
        field("kv_heads", &C::kv_heads,
              "Key and value heads, shared by groups of heads; 0: one per head", {.low = 0});
        field("dim", &C::dim, "Width of the model; a multiple of the heads",
              {.low = 1, .required = true, .gpt2 = "n_embd"});
        field("hidden", &C::hidden, "Width of the feed-forward networks; 0: 4 dim, swiglu 8/3 dim",
              {.low = 0, .gpt2 = "n_inner"});
        field("dropout", &C::dropout, "Dropout probability",
              {.low = 0, .high = 0.99, .required = true});
        const FieldTraits apart{.low = -1, .high = 0.99, .optional = true, .in_command = false};
        field("embedding_dropout", &C::embedding_dropout, "That of embeddings; -1: dropout", apart);
        field("attention_dropout", &C::attention_dropout, "That of attention; -1: dropout", apart);
        field("activation", &C::activation, "Activation of the feed-forward networks");
        field("positions", &C::positions, "Position encoding");
        field("position_form", &C::position_form, "Registered form of positions, or none",
              {.optional = true, .in_command = false, .choices = position_form_names});
        field("form", &C::form,
              "Form of attention: softmax, window:W, strided:S, linear, performer:M, linformer:K",
              {.optional = true, .option = "--attention"});
        field("head_dropout", &C::head_dropout, "Dropout probability of whole attention heads",
              {.low = 0, .high = 0.99, .optional = true});
        // Models from before December 2026 do not have it, and were trained without a factor.
        field("embedding_scale", &C::embedding_scale,
              "Factor of the token embeddings before positions are added; 0: sqrt(dim) with "
              "sinusoidal positions, otherwise 1",
              {.low = 0, .high = 1e6, .absent = 1});
        field("rotary_base", &C::rotary_base, "Base of the rotary frequencies", {.low = 1});
        field("rotary_share", &C::rotary_share, "Share of each head's dimensions that is rotated",
              {.low = 0, .high = 1});
        field("rotary_pairs", &C::rotary_pairs, "Which dimensions form a pair for the rotation");
        field("qk_norm", &C::qk_norm, "Norm of queries and keys, per head");
        field("norm_eps", &C::norm_eps, "Epsilon that norms add to the variance",
              {.low = 0, .gpt2 = "layer_norm_epsilon"});
        field("bias", &C::bias, "Biases in linear layers and norms", {.required = true});
        field("tied_head", &C::tied_head, "Share the token embedding's weight with the head",
              {.required = true, .gpt2 = "tie_word_embeddings"});
        field("deviation", &C::deviation, "Standard deviation of the initial matrices",
              {.low = 0, .stored = false, .gpt2 = "initializer_range"});
        field("zero_outputs", &C::zero_outputs,
              "Initialise matrices that write to the residual stream to zero", {.stored = false});
        field("earlier", &C::earlier,
              "Number of preceding tokens that are added to a token's vector, each from a separate "
              "embedding table",
              {.low = 0, .high = 64});
        field("pairs", &C::pairs, "Rows of a table for pairs of consecutive tokens; 0: none",
              {.low = 0, .option = "--token-pairs"});
        field("softcap", &C::softcap, "Soft cap on the logits; 0: none", {.low = 0});
        field("recompute", &C::recompute,
              "Recompute blocks in backward instead of storing their activations",
              {.stored = false});
        list_types<C>(field);
    }
};

/// The factor of the token embeddings: config.embedding_scale, or, if that is 0, sqrt(dim) with
/// sinusoidal positions and 1 with others. Sinusoids have a root mean square of 0.71 from the first
/// step on, and would drown embeddings that are much smaller; positions that are learned begin as
/// small as the embeddings do. Source: Vaswani et al. 2017, section 3.4.
double embedding_scale(const GPTConfig& config);

/// The dropout of the embeddings and of the attention weights: dropout, unless they have their own.
inline double embedding_dropout(const GPTConfig& config) {
    return config.embedding_dropout < 0 ? config.dropout : config.embedding_dropout;
}
inline double attention_dropout(const GPTConfig& config) {
    return config.attention_dropout < 0 ? config.dropout : config.attention_dropout;
}

/// Total number of parameters of a GPT; a double, because a configuration from a file may be
/// absurd.
double parameter_count(const GPTConfig& config);

/// Estimated peak memory of training, in bytes: parameters; their gradients, `gradient_sets` times
/// (several for micro-batches whose sums are pending; bf16 gradients are then summed in f32); the
/// optimiser's moments, of AdamW two; what the tape keeps of one batch; and the fixed overhead of
/// each layer. Computed from the shapes; accurate to about ten per cent.
double training_bytes(const GPTConfig& config, std::int64_t batch, std::int64_t gradient_sets = 1,
                      std::int64_t moments = 2);

/// Floating-point operations of the matrix products of one training step; the rest is small in
/// comparison. Forward: 2 per token and element of a weight matrix, and per query 4 dim for each
/// key that it sees (q k^T and P v; half of all pairs, because the model is causal); backward twice
/// that. With L layers of width d, V tokens in the vocabulary, T in the context, and 4 d hidden
/// units, this is
///     B T (72 L d^2 + 6 d V + 6 L d (T + 1)).
/// Speeds counted this way can be compared between programs that compute the same gradients in
/// other ways.
double step_flops(const GPTConfig& config, std::int64_t batch);

}  // namespace tapestry
