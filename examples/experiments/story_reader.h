// A language model of stories whose layers may lack what makes them a Transformer's: what
// experiments build that take something away. The layers are those of the library, joined in
// another way.
#pragma once

#include <tapestry/examples/experiments/story_model.h>

namespace tapestry::experiments {

enum class Norms { none, after, before };

class StoryReader : public Module {
public:
    static constexpr std::int64_t kContext = 32;

    Embedding token;
    PositionalEncoding position;
    Encoder encoder;
    Linear head;

    StoryReader(std::int64_t vocab, TransformerLayerConfig layer, std::int64_t layers, Norms norms,
                Generator& generator)
        : Module("StoryReader"),
          token(vocab, layer.dim, generator),
          position(Positions::learned, kContext, layer.dim, generator),
          encoder({.layers = layers, .layer = causal(layer)}, generator),
          head(layer.dim, vocab, true, generator),
          norms_(norms) {
        register_module("token", token);
        register_module("position", position);
        register_module("encoder", encoder);
        register_module("head", head);
    }

    /// ids [B, T] -> logits [B, T, V].
    Tensor operator()(const Tensor& ids) const {
        Tensor x = position(token(ids));
        for (const auto& layer : encoder.layers) x = pass(*layer, x);
        return head(norms_ == Norms::before ? layer_norm(x) : x);
    }

    Tensor loss(const Batch& batch) const {
        return cross_entropy((*this)(batch.inputs), batch.targets);
    }

private:
    static TransformerLayerConfig causal(TransformerLayerConfig layer) {
        layer.causal = true;
        return layer;
    }

    // In the order of Vaswani et al. 2017, of GPT-2, or without.
    Tensor pass(const EncoderLayer& layer, const Tensor& x) const {
        if (norms_ == Norms::after) {
            const Tensor h = layer.attention_norm(x + layer.attention(x));
            return layer.feed_forward_norm(h + layer.feed_forward(h));
        }
        const auto norm = [this](const LayerNorm& n, const Tensor& h) {
            return norms_ == Norms::before ? n(h) : h;
        };
        const Tensor h = x + layer.attention(norm(layer.attention_norm, x));
        return h + layer.feed_forward(norm(layer.feed_forward_norm, h));
    }

    Norms norms_;
};

/// Nats per word of the same 320 pieces of what is held out.
inline double held_out_loss(const StoryReader& model, const StoryText& text) {
    const NoGradGuard no_grad;
    Generator generator(1);
    double sum = 0;
    for (int i = 0; i < 10; ++i) {
        sum += model
                   .loss(text.data.random_batch(Split::validation, 32, StoryReader::kContext,
                                                generator))
                   .item() /
               10;
    }
    return sum;
}

}  // namespace tapestry::experiments
