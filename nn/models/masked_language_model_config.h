// The configuration of a model of masked tokens, and its cost. The list of fields below is the only
// source for config.json, the command line, error messages and docs/modules.md. Read next:
// masked_language_model.h, the model.
#pragma once

#include <tapestry/nn/models/model_types.h>

#include <cstdint>
#include <string>

namespace tapestry {

/// The configuration of a MaskedLanguageModel. FieldsOf<MaskedLanguageModelConfig> has meaning and
/// bounds of every field.
struct MaskedLanguageModelConfig {
    std::int64_t vocab = 0;         ///< V, tokens in the vocabulary
    std::int64_t max_length = 128;  ///< rows of the table of positions
    std::int64_t dim = 128;         ///< C, width of the model
    std::int64_t heads = 4;         ///< H; divides dim
    std::int64_t layers = 4;        ///< number of blocks
    std::int64_t hidden = 0;        ///< of the feed-forward networks; 4 dim if 0
    /// Probability, in training: on embeddings, attention weights and residual branches.
    double dropout = 0.1;
    std::string form = "softmax";  ///< of attention (nn/attention/named_forms.h)
    double head_dropout = 0;       ///< probability, in training: on whole heads of a sequence
    std::int64_t types = 0;        ///< token types: 2 for a first and a second text; 0: no table
    std::int64_t classes = 0;      ///< classes of whole sequences; 0: no classifier
    std::int64_t padding_id = -1;  ///< the id that fills short sequences; -1: there is none
    double norm_eps = 1e-12;       ///< epsilon of all norms
    double deviation = 0.02;  ///< initial deviation of matrices and tables; narrow models need more
    ComputeType compute = ComputeType::f32;  ///< type of activations and matrix products
    /// Type of the parameters, and so of gradients and moments; with bf16 the model computes in
    /// bf16.
    ComputeType weights = ComputeType::f32;

    // Its cost, for nn/models/model_registry.h.

    /// Total number of parameters; a double, because a configuration from a file may be absurd.
    friend double parameter_count(const MaskedLanguageModelConfig& config);
    /// Estimated peak memory of training; the arguments are those of gpt_config.h.
    friend double training_bytes(const MaskedLanguageModelConfig& config, std::int64_t batch,
                                 std::int64_t gradient_sets, std::int64_t moments);
    /// Floating-point operations of the matrix products of a step.
    friend double step_flops(const MaskedLanguageModelConfig& config, std::int64_t batch);
};

template <>
struct FieldsOf<MaskedLanguageModelConfig> {
    using C = MaskedLanguageModelConfig;
    using Enums = Types<ComputeType>;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("vocab", &C::vocab, "Vocabulary size, with the mask", {.low = 1, .required = true});
        field("max_length", &C::max_length, "Longest sequence in tokens",
              {.low = 1, .required = true});
        field("dim", &C::dim, "Width of the model; a multiple of the heads",
              {.low = 1, .required = true});
        field("heads", &C::heads, "Attention heads per block", {.low = 1, .required = true});
        field("layers", &C::layers, "Transformer blocks", {.low = 1, .required = true});
        field("hidden", &C::hidden, "Width of the feed-forward networks; 0: 4 dim",
              {.low = 0, .required = true});
        field("dropout", &C::dropout, "Dropout probability",
              {.low = 0, .high = 0.99, .required = true});
        field("form", &C::form,
              "Form of attention: softmax, window:W, strided:S, linear, performer:M, linformer:K",
              {.optional = true, .option = "--attention"});
        field("head_dropout", &C::head_dropout, "Dropout probability of whole attention heads",
              {.low = 0, .high = 0.99, .optional = true});
        field("types", &C::types, "Token types; 0: none", {.low = 0});
        field("classes", &C::classes, "Classes of whole sequences; 0: none", {.low = 0});
        field("padding_id", &C::padding_id, "Id that pads short sequences; -1: none", {.low = -1});
        field("norm_eps", &C::norm_eps, "Epsilon that norms add to the variance", {.low = 0});
        field("deviation", &C::deviation, "Standard deviation of the initial matrices",
              {.low = 0, .high = 10, .stored = false});
        list_types<C>(field);
    }
};

}  // namespace tapestry
