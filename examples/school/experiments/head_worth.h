// Measures of a head's worth: a model without the head, the increase in a language model's loss,
// and the number of dimensions that the heads' outputs span together.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>

#include <functional>
#include <optional>
#include <vector>

namespace tapestry::experiments {

/// Removes the output of head `head` while in scope, by zeroing the columns of W_O that read it.
/// Several heads may be removed at once.
class WithoutHead {
public:
    WithoutHead(const MultiHeadAttention& attention, std::int64_t head)
        : columns_(columns_of(attention, head)), kept_(columns_.clone()) {
        columns_.fill_(0);
    }
    ~WithoutHead() { columns_.copy_(kept_); }
    WithoutHead(const WithoutHead&) = delete;
    WithoutHead& operator=(const WithoutHead&) = delete;

    // [dim, dim / heads]: a constant that shares the parameter's memory
    static Tensor columns_of(const MultiHeadAttention& attention, std::int64_t head) {
        const Tensor weight = attention.output.weight.detach();
        const std::int64_t width = weight.size(1) / attention.config().heads;
        return views::slice(weight, 1, head * width, (head + 1) * width);
    }

private:
    Tensor columns_;
    Tensor kept_;
};

/// Like WithoutHead, but keeps the head's average: its mean output [dim / heads], through W_O, is
/// added to the bias. Only the head's dependence on the input is lost.
class WithMeanOfHead {
public:
    WithMeanOfHead(const MultiHeadAttention& attention, std::int64_t head, const Tensor& mean)
        : bias_(attention.output.bias.detach()), kept_(bias_.clone()) {
        const Tensor columns = WithoutHead::columns_of(attention, head);
        bias_.copy_(kept_ + squeeze(matmul(columns, unsqueeze(mean, 1)), 1));
        without_.emplace(attention, head);
    }
    ~WithMeanOfHead() { bias_.copy_(kept_); }
    WithMeanOfHead(const WithMeanOfHead&) = delete;
    WithMeanOfHead& operator=(const WithMeanOfHead&) = delete;

private:
    Tensor bias_, kept_;
    std::optional<WithoutHead> without_;
};

struct Rank {
    double numerical = 0;            ///< singular values above 1e-4 of the largest
    double effective = 0;            ///< e^entropy of their shares of the sum
    double similarity = 0;           ///< mean |cos| between two heads' outputs
    std::vector<double> spectrum{};  ///< singular values divided by the largest
};

/// Rank of the heads [B, H, T, D], concatenated.
Rank rank_of(const Tensor& heads);

/// A language model and fixed evaluation data: `batches` of 16 pieces of `context` tokens.
struct AskedModel {
    std::function<Tensor(const Tensor& ids, std::vector<AttentionRecord>* records)> logits;
    const TransformerStack& blocks;
    const TextData& data;
    std::int64_t context;
    std::int64_t batches;

    double loss() const;
    std::vector<Rank> ranks() const;  ///< one per layer
    /// The attention of a batch; another `seed` gives another batch.
    std::vector<AttentionRecord> look(std::int64_t batch, std::uint64_t seed) const;
};

AskedModel asked_gpt(const GPT& model, const TextData& data, std::int64_t context,
                     std::int64_t batches);

/// Relative increase in loss without each head: with its output set to zero, and set to its mean.
/// [layers x heads], layer by layer.
struct Removals {
    double loss = 0;  ///< with all heads
    std::vector<double> zeroed{}, averaged{};
};

Removals remove_each(const AskedModel& asked);

/// The number of independent zero-mean heads that a layer's heads are worth, averaged over the
/// layers: H times the sum of the mean squares of each head's contribution to the output, divided
/// by the mean square of their sum.
double heads_worth(const AskedModel& asked);

/// What heads have in common, means over layers and pairs of heads.
struct Overlaps {
    /// |cos| of two heads' outputs [T, D], taken as vectors.
    double outputs = 0;
    /// |cos| of the vectors that two heads add to a token's; of random ones 0.8 / sqrt(C).
    double written = 0;
    /// Mean cos^2 of the angles between the row spaces of W_Q of two heads, and of W_K.
    double read = 0;
    double random = 0;  ///< what that is for random subspaces: D / C
};

Overlaps overlaps_of(const AskedModel& asked);

/// The share of heads that cost less than 1%.
double share_to_spare(const std::vector<double>& costs);

}  // namespace tapestry::experiments
