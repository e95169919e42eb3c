// The character model, and how it is trained. Implements text_model.h.
#include <tapestry/examples/school/experiments/text_model.h>

#include <tapestry/core/views.h>
#include <tapestry/examples/stories/stories.h>

#include <algorithm>
#include <cmath>

namespace tapestry::experiments {

Characters story_characters(std::size_t bytes) {
    const std::string text = examples::write_stories(1, bytes).text;
    const CharTokenizer tokenizer = CharTokenizer::from_text(text);
    return {tokenizer.vocab_size(), std::make_shared<const TextData>(tokenizer.encode(text))};
}

TextBlock::TextBlock(const TextModelConfig& c, Generator& generator)
    : Module("TextBlock"),
      attention_norm(c.dim),
      attention({.dim = c.dim,
                 .heads = c.heads,
                 .head_dim = c.head_dim,
                 .causal = true,
                 .scale = c.scale},
                generator),
      network_norm(c.dim),
      network({.dim = c.dim}, generator) {
    register_module("attention_norm", attention_norm);
    register_module("attention", attention);
    register_module("network_norm", network_norm);
    register_module("network", network);
    const std::int64_t width = c.heads * attention.config().head_dim;
    Tensor queries_and_keys =
        views::slice(attention.qkv->weight.detach(), 0, 0, 2 * width);  // [2 H D, C]
    const double deviation = c.query_key_factor / std::sqrt(static_cast<double>(c.dim));
    queries_and_keys.copy_(deviation * randn(queries_and_keys.shape(), generator));
}

Tensor TextBlock::operator()(const Tensor& x) const {
    const Tensor h = x + attention(attention_norm(x));
    return h + network(network_norm(h));
}

TextModel::TextModel(const TextModelConfig& c, Generator& generator)
    : Module("TextModel"),
      token(c.vocab, c.dim, generator),
      position(Positions::learned, c.context, c.dim, generator),
      final_norm(c.dim),
      head(c.dim, c.vocab, true, generator) {
    register_module("token", token);
    register_module("position", position);
    for (std::int64_t l = 0; l < c.layers; ++l) {
        blocks.push_back(std::make_unique<TextBlock>(c, generator));
        register_module(fmt::format("blocks.{}", l), *blocks.back());
    }
    register_module("final_norm", final_norm);
    register_module("head", head);
}

Tensor TextModel::operator()(const Tensor& ids) const {
    Tensor x = position(token(ids));  // [B, T, C]
    for (const auto& block : blocks) x = (*block)(x);
    return head(final_norm(x));
}

Measured train_characters(const Module& model,
                          const std::function<Tensor(const Tensor& ids)>& logits,
                          const Characters& text, const TextTraining& t) {
    Generator data(t.seed + 1), held_out(1);
    AdamW optimizer(decay_groups(model, 0.01), {.lr = t.rate, .beta2 = 0.99});
    TrainStep step(optimizer, {.clip = 1});
    const auto schedule = warmup_cosine_schedule({.rate = t.rate,
                                                  .min_rate = t.rate / 20,
                                                  .warmup = std::max<std::int64_t>(1, t.steps / 10),
                                                  .steps = t.steps});
    const double guessing = std::log(static_cast<double>(text.vocab));
    std::vector<double> losses;
    for (std::int64_t i = 1; i <= t.steps; ++i) {
        step.zero_grad();
        const double loss = step.gradients([&] {
            const Batch batch = text.data->random_batch(Split::train, t.batch, t.context, data);
            return cross_entropy(logits(batch.inputs), batch.targets);
        });
        const double norm = step.norm();
        if (!std::isfinite(loss) || !std::isfinite(norm)) break;
        losses.push_back(loss);
        step.update(schedule(i), norm);
    }
    double loss = guessing;
    if (static_cast<std::int64_t>(losses.size()) == t.steps) {
        const NoGradGuard no_grad;
        const Batch batch = text.data->random_batch(Split::validation, 256, t.context, held_out);
        loss = std::min(guessing, cross_entropy(logits(batch.inputs), batch.targets).item());
    }
    losses.resize(static_cast<std::size_t>(t.steps), guessing);
    return {{{"loss", loss}}, {{"losses", losses}}};
}

}  // namespace tapestry::experiments
