// The configuration of Llama and its relatives, and its cost: parameters, memory, operations. What
// a block computes is described by these fields; a family is a row of nn/models/model_registry.cpp
// with its values. The list of fields below is the only source for config.json, the command line,
// error messages and docs/modules.md. Read next: llama.h, the model.
#pragma once

#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/layers/feed_forward.h>
#include <tapestry/nn/layers/norm.h>
#include <tapestry/nn/models/model_types.h>

#include <cstdint>

namespace tapestry {

/// Families of models that are described by a LlamaConfig. Each is a kind of model, a row of
/// nn/models/model_registry.cpp, and has names in files of Hugging Face's (nn/io).
enum class LlamaFamily {
    llama,     ///< Llama, SmolLM2
    qwen3,     ///< Qwen3: norms of queries and keys
    gpt_neox,  ///< GPT-NeoX, Pythia: both branches of a block read the same vectors
    gpt_neo    ///< GPT-Neo, TinyStories: every second block looks back over a window
};

/// The configuration of a Llama or a relative; the defaults are Llama's. FieldsOf<LlamaConfig> has
/// meaning and bounds of every field.
struct LlamaConfig {
    LlamaFamily family = LlamaFamily::llama;  ///< whose kind, names and files it has
    std::int64_t vocab = 0;                   ///< V, tokens in the vocabulary; at least 1
    std::int64_t context = 64;                ///< maximum number of tokens that it sees
    std::int64_t layers = 4;                  ///< number of blocks
    std::int64_t heads = 4;     ///< H, of the queries; divides dim unless head_dim is given
    std::int64_t kv_heads = 0;  ///< of keys and values, each used by heads / kv_heads; 0: heads
    std::int64_t head_dim = 0;  ///< D, width of a head; 0: dim / heads
    std::int64_t dim = 128;     ///< C, width of the model
    std::int64_t hidden = 0;    ///< of the feed-forward networks; 0: hidden_width()
    double dropout = 0;         ///< on attention weights and residual branches, in training
    Positions positions = Positions::rotary;  ///< how the model knows the order of tokens
    double rotary_base = 10000;               ///< base of the rotary frequencies
    double rotary_share = 1;                  ///< fraction of a head's elements that rotate
    QKNorm qk_norm = QKNorm::none;            ///< normalisation of queries and keys, per head
    double attention_scale = 0;               ///< factor of the scores; 0: 1 / sqrt(head_dim)
    std::int64_t window = 0;         ///< tokens that windowed blocks look back over; 0: no block is
    std::int64_t window_every = 1;   ///< blocks window_every, 2 window_every, ... are windowed
    bool qkv_bias = false;           ///< biases of queries, keys and values
    bool output_bias = false;        ///< bias of attention's output
    bool feed_forward_bias = false;  ///< biases of the feed-forward networks
    Activation activation = Activation::swiglu;  ///< of the feed-forward networks
    NormKind norm = NormKind::rms;               ///< of all vectors; layer norms have a bias
    /// x + attention(norm(x)) + feed_forward(norm(x)) instead of one after the other.
    bool parallel = false;
    double norm_eps = 1e-5;   ///< epsilon of all norms
    bool tied_head = true;    ///< the head's weight is the token embedding's
    double deviation = 0.02;  ///< initial standard deviation of matrices
    bool recompute = false;   ///< recompute blocks in the backward pass (autograd/recompute.h)
    ComputeType compute = ComputeType::f32;  ///< type of activations
    /// Type of the parameters, and so of gradients and moments; with bf16 the model computes in
    /// bf16.
    ComputeType weights = ComputeType::f32;

    // Its cost, for nn/models/model_registry.h, which calls these for any kind. As friends they are
    // no candidates for training_bytes({.vocab = 65}, 1), which is a GPT's.

    /// Total number of parameters; a double, because a configuration from a file may be absurd.
    friend double parameter_count(const LlamaConfig& config);
    /// Estimated peak memory of training: that of a GPT (gpt_config.h) of the same sizes, and what
    /// heads of another width add.
    friend double training_bytes(const LlamaConfig& config, std::int64_t batch,
                                 std::int64_t gradient_sets, std::int64_t moments);
    /// Operations of a step, as of a GPT. Windows are not subtracted.
    friend double step_flops(const LlamaConfig& config, std::int64_t batch);
};

template <>
struct FieldsOf<LlamaConfig> {
    using C = LlamaConfig;
    using Enums = Types<Activation, ComputeType, NormKind, Positions, QKNorm>;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("vocab", &C::vocab, "Vocabulary size", {.low = 1, .required = true});
        field("context", &C::context, "Context length in tokens", {.low = 1, .required = true});
        field("layers", &C::layers, "Transformer blocks", {.low = 1, .required = true});
        field("heads", &C::heads, "Attention heads per block", {.low = 1, .required = true});
        field("kv_heads", &C::kv_heads,
              "Key and value heads, shared by groups of heads; 0: one per head", {.low = 0});
        field("head_dim", &C::head_dim, "Width of a head; 0: dim / heads", {.low = 0});
        field("dim", &C::dim, "Width of the model; a multiple of the heads",
              {.low = 1, .required = true});
        field("hidden", &C::hidden,
              "Width of the feed-forward networks; 0: 4 dim, or with swiglu 8/3 dim, rounded up to "
              "a multiple of 32",
              {.low = 0});
        field("dropout", &C::dropout, "Dropout probability",
              {.low = 0, .high = 0.99, .required = true});
        field("positions", &C::positions, "Position encoding");
        field("rotary_base", &C::rotary_base, "Base of the rotary frequencies", {.low = 1});
        field("rotary_share", &C::rotary_share, "Share of each head's dimensions that is rotated",
              {.low = 0, .high = 1});
        field("qk_norm", &C::qk_norm, "Norm of queries and keys, per head");
        field("attention_scale", &C::attention_scale,
              "Factor of attention's scores; 0: 1 / sqrt(head_dim)", {.low = 0});
        field("window", &C::window, "Tokens that windowed blocks look back over; 0: all tokens",
              {.low = 0});
        field("window_every", &C::window_every, "The last of every so many blocks is windowed",
              {.low = 1});
        field("qkv_bias", &C::qkv_bias, "Biases of queries, keys and values");
        field("output_bias", &C::output_bias, "Bias of attention's output");
        field("feed_forward_bias", &C::feed_forward_bias, "Biases of the feed-forward networks");
        field("activation", &C::activation, "Activation of the feed-forward networks");
        field("norm", &C::norm, "Norms of the vectors; layer norms have a bias");
        field("parallel", &C::parallel,
              "Attention and feed-forward network of a block read the same vectors");
        field("norm_eps", &C::norm_eps, "Epsilon that norms add to the mean square", {.low = 0});
        field("tied_head", &C::tied_head, "Share the token embedding's weight with the head",
              {.required = true});
        field("deviation", &C::deviation, "Standard deviation of the initial matrices",
              {.low = 0, .stored = false});
        field("recompute", &C::recompute,
              "Recompute blocks in backward instead of storing their activations",
              {.stored = false});
        list_types<C>(field);
    }
};

/// Width of the feed-forward networks: config.hidden, or 4 dim, or with SwiGLU 8/3 dim, with which
/// three matrices have as many elements as two of 4 dim, rounded up to a multiple of 32.
std::int64_t hidden_width(const LlamaConfig& config);

/// Width of a head: config.head_dim, or dim / heads.
std::int64_t head_width(const LlamaConfig& config);

}  // namespace tapestry
