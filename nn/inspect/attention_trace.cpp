#include <tapestry/nn/inspect/attention_trace.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/attention/diagnostics.h>

#include <algorithm>
#include <limits>

namespace tapestry {
namespace {

// [..., H, T, D] -> [H, T, D], for sequence 0
Tensor heads_of_first(const Tensor& x) {
    Shape shape = x.shape();
    while (shape.rank() < 3) shape.insert(0, 1);
    Tensor y = views::reshape(x.detach(), shape);
    while (y.rank() > 3) {
        const Tensor first = views::slice(y, 0, 0, 1);
        y = views::reshape(first, first.shape().sub(1, first.rank()));
    }
    return y;
}

// [G, S, D] -> [H, S, D], repeated for each head
Tensor repeated_heads(const Tensor& x, std::int64_t heads) {
    const std::int64_t shared = x.size(0), keys = x.size(1), width = x.size(2);
    if (shared == heads) return x;
    const Tensor alone = views::reshape(x, {shared, 1, keys, width});
    return views::reshape(views::expand(alone, {shared, heads / shared, keys, width}),
                          {heads, keys, width});
}

// The mask as addends, whether bool or numeric.
std::vector<float> added(const Tensor& mask) {
    std::vector<float> numbers = mask.to_vector<float>();
    if (mask.dtype() != DType::boolean) return numbers;
    const float nothing = -std::numeric_limits<float>::infinity();
    std::transform(numbers.begin(), numbers.end(), numbers.begin(),
                   [nothing](float allowed) { return allowed != 0 ? 0 : nothing; });
    return numbers;
}

}  // namespace

AttentionTrace trace_attention(const Tensors& inputs, const AttentionOptions& options) {
    const NoGradGuard no_grad;
    const Tensor q = heads_of_first(inputs.at(0));
    const Tensor k = repeated_heads(heads_of_first(inputs.at(1)), q.size(0));
    AttentionTrace trace;
    trace.causal = options.causal;
    trace.scale = options.scale.value_or(1);
    trace.dtype = q.dtype() == DType::f64 ? DType::f64 : DType::f32;
    trace.heads = q.size(0), trace.queries = q.size(1), trace.dim = q.size(2);
    trace.keys = k.size(1);
    trace.q = q.to_vector<float>();
    trace.k = k.to_vector<float>();
    const Tensor v = repeated_heads(heads_of_first(inputs.at(2)), q.size(0));
    trace.value_dim = v.size(2);
    trace.v = v.to_vector<float>();
    AttentionOptions plain{.causal = options.causal, .scale = options.scale};
    if (const Tensor& mask = inputs.at(3); mask.defined()) {
        Tensor first = heads_of_first(mask);
        trace.mask_heads = first.size(0);
        first = views::expand(first, {trace.mask_heads, trace.queries, trace.keys});
        trace.mask = added(first);
        plain.mask = first;
    }
    Tensor weights = attention_weights(q, k, plain);  // [H, T, S]
    trace.weights = weights.to_vector<float>();
    Shape batch = weights.shape();
    batch.insert(0, 1);
    weights = views::reshape(weights, batch);
    trace.entropy = attention_entropy(weights).to_vector<double>();
    trace.distance = attention_distance(weights).to_vector<double>();
    return trace;
}

}  // namespace tapestry
