// Luong's attention in its simplest form: a key fits the query as well as their product says.
#pragma once

#include <tapestry/nn/module/module.h>

namespace tapestry {

/// weights [B, T, S] = softmax(q k^T),   context [B, T, V] = weights values.
/// For queries [B, T, H], keys [B, S, H] and values [B, S, V]: no parameters, and no scale, which
/// Vaswani et al. (ops/attention.h) added three years later. `mask` and errors as there; `weights`,
/// if not null, receives [B, T, S], a constant.
/// Source: Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation",
/// section 3.1 ("dot").
class DotAttention : public Module {
public:
    DotAttention() : Module("DotAttention") {}

    Tensor operator()(const Tensor& queries, const Tensor& keys, const Tensor& values,
                      const Tensor& mask = {}, Tensor* weights = nullptr) const;
};

}  // namespace tapestry
