// The configuration of a model that points at an answer, and its cost. The list of fields below is
// the only source for config.json, the command line, error messages and docs/modules.md. Read next:
// span_reader.h, the model.
#pragma once

#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/models/model_types.h>

#include <cstdint>

namespace tapestry {

/// The configuration of a SpanReader. FieldsOf<SpanConfig> has meaning and bounds of every field.
struct SpanConfig {
    std::int64_t vocab = 0;         ///< V, tokens in the vocabulary, with three marks
    std::int64_t max_length = 384;  ///< question, passage and three marks, in tokens
    std::int64_t max_answer = 30;   ///< tokens of the longest answer
    std::int64_t dim = 128;         ///< C, width of the model
    std::int64_t heads = 4;         ///< H; divides dim
    std::int64_t layers = 3;        ///< number of blocks
    std::int64_t hidden = 0;        ///< of the feed-forward networks; 4 dim if 0
    double dropout = 0;  ///< in training: on embeddings, attention weights and residual branches
    Positions positions = Positions::rotary;  ///< how positions are encoded
    std::int64_t pieces = 4096;               ///< byte pairs that a run learns, at most
    ComputeType compute = ComputeType::f32;   ///< type of activations and matrix products
    /// Type of the parameters, and so of gradients and moments; with bf16 the model computes in
    /// bf16.
    ComputeType weights = ComputeType::f32;

    // Its cost, for nn/models/model_registry.h.

    /// Total number of parameters; a double, because a configuration from a file may be absurd.
    friend double parameter_count(const SpanConfig& config);
    /// Estimated peak memory of training; the arguments are those of gpt_config.h.
    friend double training_bytes(const SpanConfig& config, std::int64_t batch,
                                 std::int64_t gradient_sets, std::int64_t moments);
    /// Floating-point operations of the matrix products of a step, for sequences of max_length.
    friend double step_flops(const SpanConfig& config, std::int64_t batch);
};

template <>
struct FieldsOf<SpanConfig> {
    using C = SpanConfig;
    using Enums = Types<ComputeType, Positions>;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("vocab", &C::vocab, "Vocabulary size, with three marks",
              {.low = 4, .required = true});
        field("max_length", &C::max_length, "Longest sequence in tokens",
              {.low = 1, .required = true});
        field("max_answer", &C::max_answer, "Longest answer in tokens",
              {.low = 1, .required = true});
        field("dim", &C::dim, "Width of the model; a multiple of the heads",
              {.low = 1, .required = true});
        field("heads", &C::heads, "Attention heads per block", {.low = 1, .required = true});
        field("layers", &C::layers, "Transformer blocks", {.low = 1, .required = true});
        field("hidden", &C::hidden, "Width of the feed-forward networks; 0: 4 dim",
              {.low = 0, .required = true});
        field("dropout", &C::dropout, "Dropout probability",
              {.low = 0, .high = 0.99, .required = true});
        field("positions", &C::positions, "Position encoding");
        field("pieces", &C::pieces,
              "Tokens of the vocabulary, at most, that is learned from passages and questions",
              {.low = 257, .high = 1 << 20, .stored = false});
        list_types<C>(field);
    }
};

}  // namespace tapestry
