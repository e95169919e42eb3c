// How much of what attention brings to one word of a sentence comes from each word: the length of
// weight times value, through W_O. A weight says less, because values differ in length.
#pragma once

#include <tapestry/nn/models/masked_language_model.h>

#include <cstdint>
#include <vector>

namespace tapestry::experiments {

/// Lengths for each layer; T words in each of N sentences.
struct Arrivals {
    std::vector<Tensor> heads;     ///< |w_j W_O v_j| of word j in each head: [N, H, T]
    std::vector<Tensor> together;  ///< the same of the sum over heads: [N, T]
};

/// What arrives at place `places[n]` of sentence n of ids [N, T], in an encoder whose norms come
/// last, before it is added to the residual stream. `records` are those of the same call.
Arrivals arrivals_of(const MaskedLanguageModel& model, const Tensor& ids, std::int64_t padding,
                     const std::vector<std::int64_t>& places,
                     const std::vector<AttentionRecord>& records);

/// The mean over n of lengths[n, words[n]] divided by the sum of lengths[n]; lengths [N, T].
double mean_share(const Tensor& lengths, const std::vector<std::int64_t>& words);

}  // namespace tapestry::experiments
