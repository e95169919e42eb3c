// Batches, model and training of the recall task. Implements recall.h.
#include <tapestry/core/views.h>
#include <tapestry/examples/school/experiments/recall.h>
#include <tapestry/tapestry.h>

#include <algorithm>
#include <numeric>

namespace tapestry::experiments {

RecallBatch recall_batch(const RecallConfig& c, std::int64_t batch, Generator& generator) {
    RecallBatch result;
    result.content = randint(0, c.contents, {batch, c.records}, generator);
    Tensors signs, asked, where, answers;
    for (std::int64_t r = 0; r < c.relations; ++r) {
        // Sorting random numbers gives a random permutation; its first S entries are S distinct
        // signs.
        std::vector<std::int64_t> drawn;
        for (std::int64_t b = 0; b < batch; ++b) {
            const auto order = randperm(c.signs, generator).to_vector<std::int64_t>();
            drawn.insert(drawn.end(), order.begin(), order.begin() + c.records);
        }
        signs.push_back(tensor(drawn, {batch, c.records}));
        const Tensor chosen = randint(0, c.records, {batch, 1}, generator);
        asked.push_back(squeeze(gather(signs.back(), 1, chosen), 1));
        answers.push_back(gather(result.content, 1, chosen));
        where.push_back(chosen);
    }
    result.signs = stack(signs);
    result.asked = stack(asked);
    result.where = concat(where, 1);
    result.answers = concat(answers, 1);
    return result;
}

RecallModel::RecallModel(const RecallConfig& c, Generator& generator)
    : Module("RecallModel"),
      content(c.contents, c.dim, generator),
      attention({.dim = c.dim, .heads = c.heads, .form = c.form}, generator),
      answer(c.dim, c.relations * c.contents, true, generator),
      config_(c) {
    for (std::int64_t r = 0; r < c.relations; ++r) {
        signs.push_back(std::make_unique<Embedding>(c.signs, c.dim, generator));
        register_module("signs." + std::to_string(r), *signs.back());
    }
    register_module("content", content);
    register_module("attention", attention);
    register_module("answer", answer);
    if (!c.whole_layer) return;
    norm.emplace(c.dim);
    network.emplace(FeedForwardConfig{.dim = c.dim}, generator);
    register_module("norm", *norm);
    register_module("network", *network);
}

Tensor RecallModel::operator()(const RecallBatch& batch, AttentionRecord* record) const {
    Tensor query;                             // [B, C]
    Tensor records = content(batch.content);  // [B, S, C]
    for (std::int64_t r = 0; r < config_.relations; ++r) {
        const Embedding& table = *signs[static_cast<std::size_t>(r)];
        const Tensor asked = table(squeeze(slice(batch.asked, 0, r, r + 1), 0));
        query = query.defined() ? query + asked : asked;
        records = records + table(squeeze(slice(batch.signs, 0, r, r + 1), 0));
    }
    Tensor found =
        attention(unsqueeze(query, 1), {.keys = records, .record = record});  // [B, 1, C]
    if (network) {
        found = unsqueeze(query, 1) + found;
        found = found + (*network)((*norm)(found));
    }
    return reshape(answer(found), {-1, config_.relations, config_.contents});
}

Tensor RecallModel::loss(const RecallBatch& batch) const {
    return cross_entropy((*this)(batch), batch.answers);
}

std::vector<double> RecallModel::accuracy(const RecallBatch& batch) const {
    const Tensor right = eq(argmax((*this)(batch)), batch.answers);  // [B, R]
    return mean(cast(right, DType::f64), {0}).to_vector<double>();
}

double mean_of_last_tenth(const std::vector<double>& losses) {
    const auto tenth = static_cast<std::ptrdiff_t>(std::max<std::size_t>(losses.size() / 10, 1));
    return std::accumulate(losses.end() - tenth, losses.end(), 0.0) / static_cast<double>(tenth);
}

std::vector<double> train_recall(RecallModel& model, std::int64_t steps, double rate,
                                 Generator& generator) {
    std::vector<double> losses;
    AdamW optimizer(decay_groups(model, 0.01), {.lr = rate, .beta2 = 0.99});
    train(optimizer,
          {.steps = steps,
           .schedule = warmup_cosine_schedule({.rate = rate,
                                               .min_rate = rate / 20,
                                               .warmup = std::min<std::int64_t>(50, steps / 10),
                                               .steps = steps})},
          {.loss = [&] { return model.loss(recall_batch(model.config(), 64, generator)); },
           .evaluate = {},
           .report =
               [&](const StepMetrics& m) {
                   losses.push_back(m.loss);
                   return true;
               }});
    return losses;
}

}  // namespace tapestry::experiments
