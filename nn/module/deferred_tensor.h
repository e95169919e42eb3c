// Tensors that are computed when they are needed, such as the merged matrices of LoRA
// (nn/models/lora.h): a file of them is written with one in memory at a time. Read next:
// nn/io/safetensors.h.
#pragma once

#include <tapestry/nn/module/module.h>

#include <functional>
#include <string>
#include <vector>

namespace tapestry {

/// What is known of a tensor before it is computed, and how to compute it.
struct DeferredTensor {
    std::string name = {};               ///< "blocks.3.attention.qkv.weight"
    Shape shape = {};                    ///< of the value
    DType dtype = DType::f32;            ///< of the value
    std::function<Tensor()> value = {};  ///< computes it at each call
};

/// In the order of a file.
using DeferredTensors = std::vector<DeferredTensor>;

/// These tensors as they are, without copies. Throws ValueError for an undefined one.
inline DeferredTensors deferred(const NamedTensors& tensors) {
    DeferredTensors all;
    for (const auto& one : tensors) {
        const Tensor& tensor = one.second;
        require(tensor.defined(), "deferred: tensor \"{}\" is undefined", one.first);
        all.push_back({one.first, tensor.shape(), tensor.dtype(), [tensor] { return tensor; }});
    }
    return all;
}

}  // namespace tapestry
