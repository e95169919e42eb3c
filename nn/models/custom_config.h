// The configuration of a model that the library does not know, because a custom task makes it
// (register_task in nn/train/task.h, docs/tutorials/6-your-own-task.md), and its cost. Read next:
// nn/io/custom_directory.h, which writes and reads it.
#pragma once

#include <tapestry/nn/models/model_types.h>

#include <cstdint>
#include <string>

namespace tapestry {

/// The configuration of a registered task's model. FieldsOf<CustomConfig> has meaning and bounds of
/// every field; a task uses those that its model has.
struct CustomConfig {
    std::string name = {};                   ///< of its task
    std::int64_t classes = 0;                ///< that a prediction is one of; 0: it is a number
    std::int64_t context = 1;                ///< tokens of the longest input
    std::int64_t dim = 64;                   ///< C, width of the model
    std::int64_t layers = 0;                 ///< number of blocks
    std::int64_t heads = 1;                  ///< of their attention
    std::int64_t parameters = 0;             ///< their number, once the task has made the model
    std::string settings = {};               ///< what else there is, in the task's own form
    double dropout = 0;                      ///< in training
    ComputeType compute = ComputeType::f32;  ///< type of activations and matrix products
    /// Type of the parameters, and so of gradients and moments.
    ComputeType weights = ComputeType::f32;

    // Its cost, for nn/models/model_registry.h.

    /// `parameters`.
    friend double parameter_count(const CustomConfig& config) {
        return static_cast<double>(config.parameters);
    }
    /// Estimated peak memory of training: parameters, gradients, moments, and 17 vectors per token
    /// and block; the arguments are those of gpt_config.h.
    friend double training_bytes(const CustomConfig& config, std::int64_t batch,
                                 std::int64_t gradient_sets, std::int64_t moments) {
        const auto copies = static_cast<double>(1 + gradient_sets + moments);
        const double tokens = static_cast<double>(batch) * static_cast<double>(config.context);
        const double vectors = 1 + 17 * static_cast<double>(config.layers);
        return 4 * (copies * parameter_count(config) +
                    tokens * vectors * static_cast<double>(config.dim));
    }
    /// Six operations per parameter and token (Kaplan et al. 2020, "Scaling Laws for Neural
    /// Language Models"). Task::step_flops can be more precise.
    friend double step_flops(const CustomConfig& config, std::int64_t batch) {
        return 6 * parameter_count(config) * static_cast<double>(batch) *
               static_cast<double>(config.context);
    }
};

template <>
struct FieldsOf<CustomConfig> {
    using C = CustomConfig;
    using Enums = Types<ComputeType>;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("name", &C::name, "Task that the model is of",
              {.stored = false, .in_command = false});
        field("classes", &C::classes, "Classes of a prediction; 0: it is a number",
              {.low = 0, .required = true, .in_command = false});
        field("context", &C::context, "Tokens of the longest input", {.low = 1, .required = true});
        field("dim", &C::dim, "Width of the model", {.low = 1, .required = true});
        field("layers", &C::layers, "Number of blocks", {.low = 0, .required = true});
        field("heads", &C::heads, "Attention heads per block", {.low = 1, .required = true});
        field("parameters", &C::parameters, "Number of parameters",
              {.low = 0, .required = true, .in_command = false});
        field("settings", &C::settings, "Other settings, in the task's own form",
              {.optional = true, .in_command = false});
        field("dropout", &C::dropout, "Dropout probability",
              {.low = 0, .high = 0.99, .required = true});
        list_types<C>(field);
    }
};

}  // namespace tapestry
