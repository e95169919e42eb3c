// The configuration of a text classifier that averages vectors of words and n-grams, and its cost.
// The list of fields below is the only source for config.json, the command line, error messages and
// docs/modules.md. Read next: bag.h, the model.
#pragma once

#include <tapestry/nn/models/model_types.h>

#include <cstdint>

namespace tapestry {

/// A BagClassifier's configuration. FieldsOf<BagConfig> has meaning and bounds of every field.
struct BagConfig {
    std::int64_t classes = 0;                ///< C, number of labels; at least 2
    std::int64_t buckets = 1 << 17;          ///< rows of the table, which hashed features share
    std::int64_t dim = 16;                   ///< D, width of a row
    std::int64_t words = 1000;               ///< words of a text that are read, from its beginning
    std::int64_t word_ngrams = 1;            ///< longest sequence of words that is a feature
    std::int64_t shortest = 0;               ///< characters of the shortest n-gram; 0: none
    std::int64_t longest = 0;                ///< characters of the longest n-gram; 0: none
    std::int64_t layers = 0;                 ///< of an encoder of the words' vectors; 0: none
    std::int64_t heads = 4;                  ///< of its attention; divides dim
    bool several_labels = false;             ///< whether each label has a separate probability
    double dropout = 0;                      ///< of the average, in training
    ComputeType compute = ComputeType::f32;  ///< type of the average and its product
    /// Type of the parameters, and so of gradients and moments.
    ComputeType weights = ComputeType::f32;

    // Its cost, for nn/models/model_registry.h.

    /// Total number of parameters; a double, because a configuration from a file may be absurd.
    friend double parameter_count(const BagConfig& config);
    /// Estimated peak memory of training, for texts of 300 features on average.
    friend double training_bytes(const BagConfig& config, std::int64_t batch,
                                 std::int64_t gradient_sets, std::int64_t moments);
    /// Operations of a step, for texts of 300 features on average.
    friend double step_flops(const BagConfig& config, std::int64_t batch);
};

template <>
struct FieldsOf<BagConfig> {
    using C = BagConfig;
    using Enums = Types<ComputeType>;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("classes", &C::classes, "Number of labels", {.low = 1, .required = true});
        field("buckets", &C::buckets, "Rows of the table that hashed words and n-grams share",
              {.low = 2, .high = 1 << 27, .required = true});
        field("dim", &C::dim, "Width of the model", {.low = 1, .required = true});
        field("words", &C::words, "Words of a text that are read, from its beginning",
              {.low = 1, .required = true});
        field("word_ngrams", &C::word_ngrams, "Longest sequence of words that is a feature",
              {.low = 1, .high = 16, .required = true});
        field("shortest", &C::shortest, "Characters of the shortest n-gram of a word; 0: none",
              {.low = 0, .high = 64, .required = true});
        field("longest", &C::longest, "Characters of the longest n-gram of a word; 0: none",
              {.low = 0, .high = 64, .required = true});
        field("layers", &C::layers,
              "Transformer blocks that read the words' vectors before they are averaged; 0: none",
              {.low = 0, .high = 1000, .optional = true});
        field("heads", &C::heads, "Attention heads per block", {.low = 1, .optional = true});
        field("several_labels", &C::several_labels,
              "Whether a text may have several labels, each with a probability of its own",
              {.optional = true, .in_command = false});
        field("dropout", &C::dropout, "Dropout probability",
              {.low = 0, .high = 0.99, .required = true});
        list_types<C>(field);
    }
};

}  // namespace tapestry
