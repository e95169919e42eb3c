// Caches and records of a stack of layers: a vector with one for each.
// Internal to nn/transformer.
#pragma once

#include <tapestry/core/error.h>

#include <vector>

namespace tapestry {

/// That of layer i, or null if nobody gave the vector. An empty vector is made as long as the stack
/// has layers; any other length throws ShapeError.
template <class T>
T* of_layer(const char* what, std::vector<T>* all, std::size_t i, std::size_t layers) {
    if (all == nullptr) return nullptr;
    if (all->empty()) all->resize(layers);
    require<ShapeError>(all->size() == layers, "{}: {} caches or records for {} layers", what,
                        all->size(), layers);
    return &(*all)[i];
}

}  // namespace tapestry
