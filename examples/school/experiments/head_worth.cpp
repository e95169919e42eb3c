// Implements head_worth.h.
#include <tapestry/examples/school/experiments/head_worth.h>

#include <tapestry/tapestry.h>

#include <cmath>

namespace tapestry::experiments {
namespace {

// The mean output of each head of each layer: [layers] of [H, D].
Tensors mean_outputs(const AskedModel& asked) {
    Tensors means;
    for (const AttentionRecord& record : asked.look(16, 3))
        means.push_back(mean(record.heads, {0, 2}));
    return means;
}

}  // namespace

Rank rank_of(const Tensor& heads) {
    const std::int64_t count = heads.size(1), dim = count * heads.size(3);
    Rank rank;
    const Tensor cosines = abs(head_similarity(heads));  // [B, H, H], 1 on the diagonal
    const auto n = static_cast<double>(count);
    rank.similarity = (mean(cosines).item() * n - 1) / (n - 1);
    rank.spectrum = singular_values(reshape(transpose(heads, 1, 2), {-1, dim})).to_vector<double>();
    const double largest = rank.spectrum.front();
    double total = 0, entropy = 0;
    for (const double s : rank.spectrum) total += s;
    for (double& s : rank.spectrum) {
        if (s > 0) entropy -= s / total * std::log(s / total);
        s /= largest;
        rank.numerical += s > 1e-4 ? 1 : 0;
    }
    rank.effective = std::exp(entropy);
    return rank;
}

double AskedModel::loss() const {
    const NoGradGuard no_grad;
    Generator same(1);
    double total = 0;
    for (std::int64_t i = 0; i < batches; ++i) {
        const Batch batch = data.random_batch(Split::validation, 16, context, same);
        total += cross_entropy(logits(batch.inputs, nullptr), batch.targets).item() /
                 static_cast<double>(batches);
    }
    return total;
}

std::vector<AttentionRecord> AskedModel::look(std::int64_t size, std::uint64_t seed) const {
    const NoGradGuard no_grad;
    Generator generator(seed);
    const Batch batch = data.random_batch(Split::validation, size, context, generator);
    std::vector<AttentionRecord> records;
    logits(batch.inputs, &records);
    return records;
}

std::vector<Rank> AskedModel::ranks() const {
    const NoGradGuard no_grad;
    std::vector<Rank> all;
    for (const AttentionRecord& record : look(8, 2)) all.push_back(rank_of(record.heads));
    return all;
}

AskedModel asked_gpt(const GPT& model, const TextData& data, std::int64_t context,
                     std::int64_t batches) {
    return {[&model](const Tensor& ids, std::vector<AttentionRecord>* records) {
                return model(ids, {.records = records});
            },
            model.blocks, data, context, batches};
}

Removals remove_each(const AskedModel& asked) {
    const NoGradGuard no_grad;
    Removals result{.loss = asked.loss()};
    const Tensors means = mean_outputs(asked);
    for (std::size_t l = 0; l < means.size(); ++l) {
        const MultiHeadAttention& attention = asked.blocks.layers[l]->attention;
        for (std::int64_t head = 0; head < attention.config().heads; ++head) {
            {
                const WithoutHead zeroed(attention, head);
                result.zeroed.push_back(asked.loss() / result.loss - 1);
            }
            const WithMeanOfHead averaged(attention, head,
                                          squeeze(slice(means[l], 0, head, head + 1), 0));
            result.averaged.push_back(asked.loss() / result.loss - 1);
        }
    }
    return result;
}

double heads_worth(const AskedModel& asked) {
    const NoGradGuard no_grad;
    const std::vector<AttentionRecord> records = asked.look(16, 4);
    double worth = 0;
    for (std::size_t l = 0; l < records.size(); ++l) {
        const MultiHeadAttention& attention = asked.blocks.layers[l]->attention;
        const std::int64_t heads = attention.config().heads;
        Tensor together;
        double alone = 0;
        for (std::int64_t h = 0; h < heads; ++h) {
            const Tensor found = squeeze(slice(records[l].heads, 1, h, h + 1), 1);  // [B, T, D]
            const Tensor added =
                matmul(found, transpose(WithoutHead::columns_of(attention, h), 0, 1));
            alone += mean(square(added)).item();
            together = together.defined() ? together + added : added;
        }
        worth += static_cast<double>(heads) * alone / mean(square(together)).item() /
                 static_cast<double>(records.size());
    }
    return worth;
}

namespace {

// Orthonormal rows [D, C] of the space that the rows of w [D, C] span.
Tensor basis_of(const Tensor& w) { return transpose(qr(transpose(w, 0, 1)).q, 0, 1); }

// Means over pairs of heads of a layer: |cos| of vectors [H][B, T, C], and overlap of bases [H][D,
// C].
double similarity(const Tensors& vectors) {
    double total = 0, pairs = 0;
    for (std::size_t a = 0; a < vectors.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b, ++pairs) {
            const Tensor dot = sum(vectors[a] * vectors[b], {-1});
            const Tensor norms =
                sqrt(sum(square(vectors[a]), {-1}) * sum(square(vectors[b]), {-1}));
            total += mean(abs(dot) / (norms + 1e-12)).item();
        }
    }
    return total / pairs;
}

double overlap(const Tensors& bases) {
    double total = 0, pairs = 0;
    for (std::size_t a = 0; a < bases.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b, ++pairs) {
            total += sum(square(matmul(bases[a], transpose(bases[b], 0, 1)))).item() /
                     static_cast<double>(bases[a].size(0));
        }
    }
    return total / pairs;
}

}  // namespace

Overlaps overlaps_of(const AskedModel& asked) {
    const NoGradGuard no_grad;
    const std::vector<AttentionRecord> records = asked.look(8, 2);
    const double share = 1 / static_cast<double>(records.size());
    Overlaps result;
    for (std::size_t l = 0; l < records.size(); ++l) {
        const MultiHeadAttention& attention = asked.blocks.layers[l]->attention;
        const std::int64_t heads = attention.config().heads, width = attention.config().head_dim;
        Tensors written, queries, keys;
        for (std::int64_t h = 0; h < heads; ++h) {
            const Tensor found = squeeze(slice(records[l].heads, 1, h, h + 1), 1);  // [B, T, D]
            written.push_back(
                matmul(found, transpose(WithoutHead::columns_of(attention, h), 0, 1)));
            const Tensor weight = attention.qkv->weight.detach();  // [3 C, C]
            const std::int64_t row = h * width, keys_from = heads * width;
            queries.push_back(basis_of(slice(weight, 0, row, row + width)));
            keys.push_back(basis_of(slice(weight, 0, keys_from + row, keys_from + row + width)));
        }
        result.outputs += share * rank_of(records[l].heads).similarity;
        result.written += share * similarity(written);
        result.read += share * (overlap(queries) + overlap(keys)) / 2;
        result.random +=
            share * static_cast<double>(width) / static_cast<double>(attention.config().dim);
    }
    return result;
}

double share_to_spare(const std::vector<double>& costs) {
    double cheap = 0;
    for (const double cost : costs) cheap += cost < 0.01 ? 1 : 0;
    return cheap / static_cast<double>(costs.size());
}

}  // namespace tapestry::experiments
