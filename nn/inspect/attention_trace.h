// What an entry of attention saw: queries and keys, from which the weights follow,
//     P = softmax(scale q k^T + mask)  over the keys a query may see.
// The tape does not keep P, so it is computed here once more.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/ops/recorded.h>

#include <string>
#include <vector>

namespace tapestry {

/// Of one sequence of a batch. The numbers lie in ordinary memory, not in tensors: whoever watches
/// the memory of a step does not want to meet those of the watcher.
struct AttentionTrace {
    int entry = -1;      ///< of Inspector::entries()
    std::string module;  ///< "blocks.3.attention"
    bool causal = false;
    bool cross = false;  ///< were keys made from other vectors than queries?
    double scale = 1;
    std::int64_t heads = 0, queries = 0, keys = 0, dim = 0;  ///< H, T, S, D
    std::vector<float> q;                                    ///< [H, T, D]
    std::vector<float> k;        ///< [H, S, D]; heads that share keys have the same
    std::vector<float> v;        ///< [H, S, Dv], likewise
    std::int64_t value_dim = 0;  ///< Dv
    std::vector<float> weights;  ///< P [H, T, S], before dropout; 0 where nothing may be seen
    /// What a mask adds to the scores, [mask_heads, T, S] with mask_heads 1 or H: -inf where a
    /// query may not look. Empty without a mask; causality is not part of it.
    std::vector<float> mask;
    std::int64_t mask_heads = 0;
    std::vector<double> entropy;   ///< of each head, in nats: attention_entropy
    std::vector<double> distance;  ///< and how far it looks: attention_distance
    /// The linear layer that reads what the heads found, side by side: W [C, H Dv] and a bias [C],
    /// which may be empty. Both are where no such layer follows in the attention's module.
    std::vector<float> output, output_bias;
};

/// Of sequence 0, from an entry's inputs q [..., H, T, D], k [..., H, S, D] or, shared by heads,
/// [..., G, S, D], v and mask. Axes before H are the batch; without H there is one head.
AttentionTrace trace_attention(const Tensors& inputs, const AttentionOptions& options);

}  // namespace tapestry
