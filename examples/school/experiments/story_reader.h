// A GPT of stories built from its parts, so that its layers may lack what makes it one, or have
// what a GPT's configuration does not name.
#pragma once

#include <tapestry/examples/school/experiments/story_model.h>

namespace tapestry::experiments {

/// Token and position vectors, a stack of layers, logits.
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
