// The inputs of an attention entry, queries and keys, and the weights that follow from them,
//     P = softmax(scale q k^T + mask)  over the keys a query may see.
// The tape does not keep P, so it is recomputed here.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/ops/recorded.h>

#include <string>
#include <vector>

namespace tapestry {

/// For one sequence of a batch. The numbers are in ordinary memory instead of tensors, which keeps
/// the Inspector's memory out of the step's.
struct AttentionTrace {
    int entry = -1;              ///< index into Inspector::entries()
    std::string module;          ///< "blocks.3.attention"
    bool causal = false;         ///< position t attends to positions 0 .. t only
    bool cross = false;          ///< whether keys come from other vectors than queries
    double scale = 1;            ///< factor of the scores
    DType dtype = DType::f32;    ///< in which scores and weights are computed: f32 or f64
    std::int64_t heads = 0,      ///< H
        queries = 0,             ///< T
        keys = 0,                ///< S
        dim = 0;                 ///< D
    std::vector<float> q;        ///< [H, T, D]
    std::vector<float> k;        ///< [H, S, D]; heads that share keys have equal ones
    std::vector<float> v;        ///< [H, S, Dv], likewise
    std::int64_t value_dim = 0;  ///< Dv
    std::vector<float> weights;  ///< P [H, T, S], before dropout; 0 for masked keys
    /// The mask as an addend to the scores, [mask_heads, T, S] with mask_heads 1 or H: -inf where a
    /// query may not look. Empty without a mask; does not include causality.
    std::vector<float> mask;
    std::int64_t mask_heads = 0;   ///< 1 or H; 0 without a mask
    std::vector<double> entropy;   ///< per head, in nats: attention_entropy
    std::vector<double> distance;  ///< how far each head looks: attention_distance
    /// The linear layer that combines the heads: W [C, H Dv], and a bias [C], which may be empty.
    /// Both are empty if no such layer follows in the attention's module.
    std::vector<float> output,  ///< W
        output_bias;            ///< [C]
};

/// Traces sequence 0, from an entry's inputs q [..., H, T, D], k [..., H, S, D] or, if heads share
/// keys, [..., G, S, D], v and mask. Axes before H are the batch; without H there is one head.
AttentionTrace trace_attention(const Tensors& inputs, const AttentionOptions& options);

}  // namespace tapestry
