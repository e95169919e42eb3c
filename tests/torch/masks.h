// PyTorch's attention masks converted to ours.
#pragma once

#include <tapestry/core/views.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/torch/check.h>

#include <limits>

namespace tapestry::torch {

/// in[name], or an undefined tensor.
inline Tensor optional(const Named& in, const std::string& name) {
    const auto found = in.find(name);
    return found == in.end() ? Tensor() : found->second;
}

/// key_padding_mask [B, S], true where a key is ignored -> [B, 1, 1, S], true where it is not.
inline Tensor keys_to_see(const Tensor& padding) {
    if (!padding.defined()) return {};
    return logical_not(views::reshape(padding, {padding.size(0), 1, 1, padding.size(1)}));
}

/// Combines a case's masks: attn_mask, [T, S] or [B, H, T, S], which is true where a query may not
/// attend, or is added to the scores; and key_padding_mask.
inline Tensor mask_of(const Named& in) {
    const Tensor mask = optional(in, "attn_mask");
    const Tensor keys = keys_to_see(optional(in, "key_padding_mask"));
    if (!mask.defined()) return keys;
    if (mask.dtype() == DType::boolean) {
        const Tensor seen = logical_not(mask);
        return keys.defined() ? logical_and(seen, keys) : seen;
    }
    if (!keys.defined()) return mask;
    const Shape shape{keys.size(0), 1, mask.size(0), mask.size(1)};
    return masked_fill(expand(mask, shape), logical_not(keys),
                       -std::numeric_limits<double>::infinity());
}

}  // namespace tapestry::torch
