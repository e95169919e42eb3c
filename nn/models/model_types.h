// The types of a model: two fields that all configurations have, and how a new model is converted.
#pragma once

#include <tapestry/core/storage.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/module/config_fields.h>
#include <tapestry/nn/module/module.h>

namespace tapestry {

/// The fields `compute` and `weights`, for FieldsOf<Config>::list.
template <class Config, class Visitor>
constexpr void list_types(const Visitor& field) {
    field("compute", &Config::compute, "Type of activations and matrix products",
          {.stored = false});
    field("weights", &Config::weights,
          "Type of weights, gradients and moments; with bf16, of activations as well",
          {.stored = false});
}

/// The type that a model computes in: that of its weights, if they are narrow.
template <class Config>
ComputeType computed_type(const Config& config) {
    return config.weights == ComputeType::f32 ? config.compute : config.weights;
}

/// Converts the parameters of a new model to `config.weights`. If they are narrow, it computes in
/// their type, and `config.compute` says so.
template <class Config>
void convert_weights(Module& model, Config& config) {
    config.compute = computed_type(config);
    if (config.weights == ComputeType::f32) return;
    model.to(dtype_of(config.weights));
    release_cached_memory();  // f32 blocks, which smaller tensors would not reuse
}

}  // namespace tapestry
