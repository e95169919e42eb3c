// What heads are worth: how many dimensions their outputs fill together, and what a language model
// loses without one of them.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/models/gpt.h>

#include <functional>
#include <vector>

namespace tapestry::experiments {

struct Rank {
    double numerical = 0;            ///< singular values above 1e-4 of the largest
    double effective = 0;            ///< e^entropy of their shares of the sum
    double similarity = 0;           ///< mean |cos| of two heads' outputs
    std::vector<double> spectrum{};  ///< singular values over the largest
};

/// Of heads [B, H, T, D] side by side.
Rank rank_of(const Tensor& heads);

/// A language model and what it is asked about; `batches` of 16 pieces of `context` tokens, the
/// same ones always.
struct AskedModel {
    std::function<Tensor(const Tensor& ids, std::vector<AttentionRecord>* records)> logits;
    const TransformerStack& blocks;
    const TextData& data;
    std::int64_t context;
    std::int64_t batches;

    double loss() const;
    std::vector<Rank> ranks() const;  ///< of each layer
    /// What the heads do in a batch; another `seed`, another batch.
    std::vector<AttentionRecord> look(std::int64_t batch, std::uint64_t seed) const;
};

AskedModel asked_gpt(const GPT& model, const TextData& data, std::int64_t context,
                     std::int64_t batches);

/// How much the loss grows without a head, as a share: by putting zeros in the place of its output,
/// and by putting its mean there. [layers x heads], layer by layer.
struct Removals {
    double loss = 0;  ///< with all heads
    std::vector<double> zeroed{}, averaged{};
};

Removals remove_each(const AskedModel& asked);

/// How many independent heads of mean 0 the heads of a layer are worth, mean over the layers: H
/// times the sum of the mean squares of what each adds to the output, over the mean square of their
/// sum.
double heads_worth(const AskedModel& asked);

/// The share of heads that cost less than 1 %.
double share_to_spare(const std::vector<double>& costs);

}  // namespace tapestry::experiments
