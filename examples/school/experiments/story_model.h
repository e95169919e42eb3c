// Small word-level language models of children's stories, shared by several experiments. The
// stories are those of stories.h, the words those of masked_words.h.
#pragma once

#include <tapestry/examples/school/tasks/masked_words.h>

namespace tapestry::experiments {

struct StoryText {
    examples::WordTable table;
    TextData data;  ///< ids_of() stories; the last tenth is held out
};

/// A mark, the words of a story, a mark, ...
inline std::vector<std::int64_t> ids_of(const std::vector<std::string>& stories,
                                        const examples::WordTable& table) {
    std::vector<std::int64_t> ids;
    for (const std::string& story : stories) {
        ids.push_back(examples::kStart);
        for (const std::string& word : examples::words_of(story)) ids.push_back(table.id(word));
    }
    return ids;
}

inline StoryText story_text(std::size_t bytes) {
    const std::vector<std::string> stories =
        examples::stories_of(examples::write_stories(1, bytes).text);
    examples::WordTable table(stories);
    TextData data(ids_of(stories, table));
    return {std::move(table), std::move(data)};
}

/// The settings that the experiments share; each changes what it studies.
inline GPTConfig story_config(const StoryText& text) {
    return {.vocab = text.table.size(),
            .context = 32,
            .layers = 2,
            .heads = 4,
            .dim = 64,
            .deviation = 0.08};
}

struct StoryTraining {
    std::int64_t steps = 300;
    std::int64_t batch = 16;
    double rate = 5e-3;
    std::uint64_t seed = 1;
};

/// Trains on random pieces of the model's context length; prints nothing.
inline void learn_stories(GPT& model, const StoryText& text, const StoryTraining& training) {
    Generator generator(training.seed);
    examples::fit(
        model,
        {.steps = training.steps, .batch = training.batch, .rate = training.rate, .print = false},
        [&] {
            const Batch batch = text.data.random_batch(Split::train, training.batch,
                                                       model.config().context, generator);
            return model.loss(batch.inputs, batch.targets);
        },
        [] { return examples::Score{}; });
}

/// Nats per word on the held-out part; the same pieces every time.
inline double held_out_loss(GPT& model, const StoryText& text) {
    Generator generator(1);
    return evaluate(model, text.data, Split::validation, {.batches = 10, .batch = 32}, generator);
}

/// A GPT assembled from parts, so its layers may lack or add what GPTConfig cannot express: token
/// and position vectors, a stack of layers, logits.
class StoryReader : public Module {
public:
    static constexpr std::int64_t kContext = 32;

    Embedding token;
    PositionalEncoding position;
    Encoder encoder;
    Linear head;

    StoryReader(const StoryText& text, const TransformerLayerConfig& layer, std::int64_t layers,
                Generator& generator)
        : Module("StoryReader"),
          token(text.table.size(), layer.dim, generator),
          position(Positions::learned, kContext, layer.dim, generator),
          encoder({.layers = layers, .layer = layer, .final_norm = layer.norm_first}, generator),
          head(layer.dim, text.table.size(), true, generator) {
        register_module("token", token);
        register_module("position", position);
        register_module("encoder", encoder);
        register_module("head", head);
    }

    Tensor operator()(const Tensor& ids, std::vector<AttentionRecord>* records = nullptr) const {
        return head(encoder(position(token(ids)), {.records = records}));
    }
};

}  // namespace tapestry::experiments
