// A Llama's configuration and its cost: parameters, memory, operations. The list of fields below is
// the only source for config.json, the command line, error messages and docs/modules.md. Read next:
// llama.h, the model.
#pragma once

#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/module/config_fields.h>

#include <cstdint>

namespace tapestry {

/// A Llama's configuration. FieldsOf<LlamaConfig> has meaning and bounds of every field.
struct LlamaConfig {
    std::int64_t vocab = 0;      ///< V, tokens in the vocabulary; at least 1
    std::int64_t context = 64;   ///< maximum number of tokens that it sees
    std::int64_t layers = 4;     ///< number of blocks
    std::int64_t heads = 4;      ///< H, of the queries; divides dim
    std::int64_t kv_heads = 0;   ///< of keys and values, each used by heads / kv_heads; 0: heads
    std::int64_t dim = 128;      ///< C, width of the model
    std::int64_t hidden = 0;     ///< of the feed-forward networks; 0: hidden_width()
    double dropout = 0;          ///< on attention weights and residual branches, in training
    double rotary_base = 10000;  ///< base of the rotary frequencies
    double norm_eps = 1e-5;      ///< epsilon of all norms
    bool tied_head = true;       ///< the head's weight is the token embedding's
    double deviation = 0.02;     ///< initial standard deviation of matrices
    bool recompute = false;      ///< recompute blocks in the backward pass (autograd/recompute.h)
    ComputeType compute = ComputeType::f32;  ///< type of activations
    /// Type of the parameters, and so of gradients and moments; with bf16 the model computes in
    /// bf16.
    ComputeType weights = ComputeType::f32;

    // Its cost, for nn/models/model_registry.h, which calls these for any kind. As friends they are
    // no candidates for training_bytes({.vocab = 65}, 1), which is a GPT's.

    /// Total number of parameters; a double, because a configuration from a file may be absurd.
    friend double parameter_count(const LlamaConfig& config);
    /// Estimated peak memory of training: that of a GPT (gpt_config.h) of the same sizes with
    /// rotary positions, SwiGLU and no biases.
    friend double training_bytes(const LlamaConfig& config, std::int64_t batch,
                                 std::int64_t gradient_sets, std::int64_t moments);
    /// Operations of a step, those of the same GPT.
    friend double step_flops(const LlamaConfig& config, std::int64_t batch);
};

template <>
struct FieldsOf<LlamaConfig> {
    using C = LlamaConfig;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("vocab", &C::vocab, "Vocabulary size", {.low = 1, .required = true});
        field("context", &C::context, "Context length in tokens", {.low = 1, .required = true});
        field("layers", &C::layers, "Transformer blocks", {.low = 1, .required = true});
        field("heads", &C::heads, "Attention heads per block", {.low = 1, .required = true});
        field("kv_heads", &C::kv_heads,
              "Key and value heads, shared by groups of heads; 0: one per head", {.low = 0});
        field("dim", &C::dim, "Width of the model; a multiple of the heads",
              {.low = 1, .required = true});
        field("hidden", &C::hidden,
              "Width of the feed-forward networks; 0: 8/3 dim, rounded up to a multiple of 32",
              {.low = 0});
        field("dropout", &C::dropout, "Dropout probability",
              {.low = 0, .high = 0.99, .required = true});
        field("rotary_base", &C::rotary_base, "Base of the rotary frequencies", {.low = 1});
        field("norm_eps", &C::norm_eps, "Epsilon that norms add to the mean square", {.low = 0});
        field("tied_head", &C::tied_head, "Share the token embedding's weight with the head",
              {.required = true});
        field("deviation", &C::deviation, "Standard deviation of the initial matrices",
              {.low = 0, .stored = false});
        field("recompute", &C::recompute,
              "Recompute blocks in backward instead of storing their activations",
              {.stored = false});
        field("compute", &C::compute, "Type of activations and matrix products", {.stored = false});
        field("weights", &C::weights,
              "Type of weights, gradients and moments; with bf16, of activations as well",
              {.stored = false});
    }
};

/// Width of the feed-forward networks: config.hidden, or 8/3 dim, with which three matrices have as
/// many elements as two of 4 dim, rounded up to a multiple of 32.
std::int64_t hidden_width(const LlamaConfig& config);

}  // namespace tapestry
