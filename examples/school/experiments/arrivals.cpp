// Lengths of what attention brings. Implements arrivals.h.
#include <tapestry/examples/school/experiments/arrivals.h>

#include <tapestry/examples/school/experiments/head_worth.h>
#include <tapestry/tapestry.h>

#include <cstddef>
#include <numeric>

namespace tapestry::experiments {

Arrivals arrivals_of(const MaskedLanguageModel& model, const Tensor& ids, std::int64_t padding,
                     const std::vector<std::int64_t>& places,
                     const std::vector<AttentionRecord>& records) {
    const std::int64_t count = ids.size(0), length = ids.size(1);
    Arrivals arrivals;
    Tensor x = model.embedding_norm(model.position_embedding(model.token_embedding(ids)));
    for (std::size_t l = 0; l < model.encoder.layers.size(); ++l) {
        const MultiHeadAttention& attention = model.encoder.layers[l]->attention;
        const std::int64_t heads = attention.config().heads, dim = attention.config().dim;
        const std::int64_t width = dim / heads;
        const Tensor at = tensor(places, {count, 1, 1, 1}) +
                          zeros({count, heads, 1, length}, DType::i64);        // for gather
        const Tensor weights = squeeze(gather(records[l].weights, 2, at), 2);  // [N, H, T]
        const Tensor packed = (*attention.qkv)(x);                             // [N, T, 3 C]
        Tensors lengths;
        Tensor together;
        for (std::int64_t h = 0; h < heads; ++h) {
            const std::int64_t from = 2 * dim + h * width;
            const Tensor values = slice(packed, 2, from, from + width);     // [N, T, D]
            const Tensor weight = squeeze(slice(weights, 1, h, h + 1), 1);  // [N, T]
            const Tensor brought =
                matmul(values, transpose(WithoutHead::columns_of(attention, h), 0, 1)) *
                unsqueeze(weight, 2);  // [N, T, C]
            lengths.push_back(sqrt(sum(square(brought), {2})));
            together = together.defined() ? together + brought : brought;
        }
        arrivals.heads.push_back(stack(lengths, 1));
        arrivals.together.push_back(sqrt(sum(square(together), {2})));
        x = (*model.encoder.layers[l])(x, {.mask = padding_mask(ids, padding)});
    }
    return arrivals;
}

double mean_share(const Tensor& lengths, const std::vector<std::int64_t>& words) {
    const auto length = static_cast<std::ptrdiff_t>(lengths.size(1));
    const std::vector<double> all = lengths.to_vector<double>();
    double mean = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto row = all.begin() + static_cast<std::ptrdiff_t>(i) * length;
        const double total = std::accumulate(row, row + length, 0.0);
        mean +=
            row[static_cast<std::ptrdiff_t>(words[i])] / total / static_cast<double>(words.size());
    }
    return mean;
}

}  // namespace tapestry::experiments
