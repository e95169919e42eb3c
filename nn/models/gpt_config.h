// What a GPT is made to, and what that costs: parameters, memory, operations. The list of fields
// below is all that config.json, GPT-2's config.json, the command line, error messages and
// docs/modules.md know of it. Read next: gpt.h, the model.
#pragma once

#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/feed_forward.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/layers/rotary.h>
#include <tapestry/nn/module/config_fields.h>

#include <cstdint>

namespace tapestry {

struct GPTConfig {
    std::int64_t vocab = 0;
    std::int64_t context = 64;  ///< the most tokens it looks at
    std::int64_t layers = 4;
    std::int64_t heads = 4;
    std::int64_t kv_heads = 0;  ///< of keys and values, each shared by heads / kv_heads; heads if 0
    std::int64_t dim = 128;
    std::int64_t hidden = 0;  ///< of the feed-forward networks; 4 dim if 0
    double dropout = 0;
    Activation activation = Activation::gelu_tanh;
    Positions positions = Positions::learned;
    double rotary_base = 10000;  ///< of rotary positions (nn/layers/rotary.h), as are the next two
    double rotary_share = 1;
    RotaryPairs rotary_pairs = RotaryPairs::interleaved;
    QKNorm qk_norm = QKNorm::none;
    double norm_eps = 1e-5;
    bool bias = true;
    bool tied_head = true;    ///< the head's weight is the token embedding's
    double deviation = 0.02;  ///< of matrices at the start; narrow models want more
    /// Matrices that write to the residual stream begin as zeros: every block as if it were not
    /// there.
    bool zero_outputs = false;
    std::int64_t earlier = 0;  ///< of nn/layers/embedding.h, as is the next
    std::int64_t pairs = 0;
    double softcap = 0;      ///< logits x become softcap tanh(x / softcap); 0: they stay
    bool recompute = false;  ///< blocks again on the way back (autograd/recompute.h)
    ComputeType compute = ComputeType::f32;  ///< what activations are kept and multiplied in
    /// What parameters are kept in, and with them gradients and moments; of bf16 the model computes
    /// in bf16.
    ComputeType weights = ComputeType::f32;
};

template <>
struct FieldsOf<GPTConfig> {
    using C = GPTConfig;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("vocab", &C::vocab, "Tokens in the vocabulary",
              {.low = 1, .required = true, .gpt2 = "vocab_size"});
        field("context", &C::context, "Tokens the model looks at",
              {.low = 1, .required = true, .gpt2 = "n_positions"});
        field("layers", &C::layers, "Transformer blocks",
              {.low = 1, .required = true, .gpt2 = "n_layer"});
        field("heads", &C::heads, "Attention heads per block",
              {.low = 1, .required = true, .gpt2 = "n_head"});
        field("kv_heads", &C::kv_heads,
              "Heads of keys and values, which heads share; 0: one for each", {.low = 0});
        field("dim", &C::dim, "Width of the model; a multiple of the heads",
              {.low = 1, .required = true, .gpt2 = "n_embd"});
        field("hidden", &C::hidden, "Width of the feed-forward networks; 0: 4 dim",
              {.low = 0, .gpt2 = "n_inner"});
        field("dropout", &C::dropout, "Dropout probability",
              {.low = 0, .high = 0.99, .required = true});
        field("activation", &C::activation, "Between the matrices of the feed-forward networks");
        field("positions", &C::positions, "How a token's place is made known");
        field("rotary_base", &C::rotary_base, "How slowly rotary positions turn", {.low = 1});
        field("rotary_share", &C::rotary_share, "Share of a head's numbers that turn",
              {.low = 0, .high = 1});
        field("rotary_pairs", &C::rotary_pairs, "Which numbers turn together");
        field("qk_norm", &C::qk_norm, "Norm of queries and keys, head by head");
        field("norm_eps", &C::norm_eps, "Added to the variance by the norms",
              {.low = 0, .gpt2 = "layer_norm_epsilon"});
        field("bias", &C::bias, "Biases in linear layers and norms", {.required = true});
        field("tied_head", &C::tied_head, "The head's weight is the token embedding's",
              {.required = true, .gpt2 = "tie_word_embeddings"});
        field("deviation", &C::deviation, "Standard deviation of matrices at the start",
              {.low = 0, .stored = false, .gpt2 = "initializer_range"});
        field("zero_outputs", &C::zero_outputs,
              "Matrices that write to the residual stream begin as zeros", {.stored = false});
        field("earlier", &C::earlier,
              "Tokens before a token that its vector tells of as well, each by a table of its own",
              {.low = 0, .high = 64});
        field("pairs", &C::pairs,
              "Rows of a table for a token and the one before it together; 0: none", {.low = 0});
        field("softcap", &C::softcap,
              "Logits are bent so that none is larger than this; 0: they stay as they are",
              {.low = 0});
        field("recompute", &C::recompute, "Compute blocks again instead of keeping them",
              {.stored = false});
        field("compute", &C::compute, "What activations are kept and multiplied in",
              {.stored = false});
        field("weights", &C::weights,
              "What weights are kept in, and with them gradients and moments; of bf16, activations "
              "as well",
              {.stored = false});
    }
};

/// What the factors of its products are.
inline DType product_dtype(const GPTConfig& config) {
    const bool half = config.compute == ComputeType::bf16 || config.weights == ComputeType::bf16;
    return half ? DType::bf16 : DType::f32;
}

/// Numbers in all parameters of a GPT; a double, for a configuration from a file may be absurd.
double parameter_count(const GPTConfig& config);

/// Bytes that training takes at the most: parameters, their gradients, once or several times (of
/// micro-batches whose sums are outstanding; those of bf16 are added up in f32), the optimiser's
/// moments, AdamW's two by default, what the tape keeps of one batch, and what a layer takes that
/// has next to no numbers. An estimate from the shapes, good to some ten per cent.
double training_bytes(const GPTConfig& config, std::int64_t batch, std::int64_t gradient_sets = 1,
                      std::int64_t moments = 2);

/// Floating-point operations of the products of one training step, the rest being small beside
/// them: forward 2 per token and number of a weight matrix, and per query 4 dim for each key that
/// it sees (q k^T and P v; half of all pairs, for the model looks back alone); backward twice that.
/// With L layers of width d, V tokens in the vocabulary, T in the context, and 4 d hidden units
/// that is
///     B T (72 L d^2 + 6 d V + 6 L d (T + 1)).
/// Speeds counted this way can be compared between programs that take other ways to the same
/// gradients.
double step_flops(const GPTConfig& config, std::int64_t batch);

/// Whether a training would fit into memory: asked before it begins, for what the system then does
/// to a program that takes too much is to kill it.
///
/// Throws ValueError when training, by the estimate of training_bytes, would need more memory than
/// the system or the container has to give, saying how much it would need.
void check_memory(const GPTConfig& config, std::int64_t batch, std::int64_t gradient_sets = 1,
                  std::int64_t moments = 2);

}  // namespace tapestry
