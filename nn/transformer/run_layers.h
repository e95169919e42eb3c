// Runs the layers of a stack in order. Internal to nn.
#pragma once

#include <tapestry/autograd/recompute.h>
#include <tapestry/nn/transformer/blocks.h>

namespace tapestry {

/// The cache or record of layer i, or null without a vector. An empty vector is resized to the
/// number of layers; any other size throws ShapeError.
template <class T>
T* of_layer(const char* what, std::vector<T>* all, std::size_t i, std::size_t layers) {
    if (all == nullptr) return nullptr;
    if (all->empty()) all->resize(layers);
    require<ShapeError>(all->size() == layers, "{}: {} caches or records for {} layers", what,
                        all->size(), layers);
    return &(*all)[i];
}

/// x [B, T, C] -> [B, T, C] through `layers`, pointers to modules called with
/// TransformerBlockInputs, with their caches and records. `recomputes`: as
/// TransformerStackConfig::recompute. `what` is the stack's name in errors.
template <class Layers>
Tensor run_layers(const char* what, const Layers& layers, const Tensor& x,
                  const TransformerStackInputs& inputs, bool recomputes) {
    const bool plain = inputs.caches == nullptr && inputs.records == nullptr;
    Tensor y = x;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const auto& layer = *layers[i];
        if (recomputes && plain) {
            const auto run = [&layer](const Tensors& t) {
                return Tensors{layer(t[0], {.mask = t[1]})};
            };
            y = recompute(run, {y, inputs.mask})[0];
            continue;
        }
        y = layer(y, {.mask = inputs.mask,
                      .cache = of_layer(what, inputs.caches, i, layers.size()),
                      .record = of_layer(what, inputs.records, i, layers.size())});
    }
    return y;
}

}  // namespace tapestry
