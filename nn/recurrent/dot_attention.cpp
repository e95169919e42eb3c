#include <tapestry/nn/recurrent/dot_attention.h>

#include <tapestry/ops/attention.h>

namespace tapestry {

Tensor DotAttention::operator()(const Tensor& queries, const Tensor& keys, const Tensor& values,
                                const Tensor& mask, Tensor* weights) const {
    const ModuleScope scope(name());
    const Tensor context = scaled_dot_product_attention(
        queries, keys, values, {.mask = mask, .scale = 1, .weights = weights});
    return hooked(context, queries, keys, values);
}

}  // namespace tapestry
