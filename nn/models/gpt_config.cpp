#include <tapestry/nn/models/gpt_config.h>

namespace tapestry {
namespace {

// Sizes as real numbers: their products may not fit into 64 bits.
struct Sizes {
    double vocab, context, layers, dim, hidden;
    double wide;     // matrices of a feed-forward network that go up to `hidden`
    double weights;  // of a layer's matrices

    explicit Sizes(const GPTConfig& config)
        : vocab(static_cast<double>(config.vocab)),
          context(static_cast<double>(config.context)),
          layers(static_cast<double>(config.layers)),
          dim(static_cast<double>(config.dim)),
          hidden(config.hidden == 0 ? 4 * dim : static_cast<double>(config.hidden)),
          wide(config.activation == Activation::swiglu ? 2 : 1),
          weights(4 * dim * dim + (wide + 1) * dim * hidden) {}
};

}  // namespace

double parameter_count(const GPTConfig& config) {
    const Sizes s(config);
    const double bias = config.bias ? 1 : 0;
    const double tables = s.vocab * s.dim * (config.tied_head ? 1 : 2) +
                          (config.positions == Positions::learned ? s.context * s.dim : 0);
    const double norm = s.dim * (1 + bias);
    // q k v, the attention's output; up (and gate), down.
    const double biases = bias * (4 * s.dim + s.wide * s.hidden + s.dim);
    return tables + s.layers * (s.weights + biases + 2 * norm) + norm;
}

double training_bytes(const GPTConfig& config, std::int64_t batch, std::int64_t gradient_sets) {
    const Sizes s(config);
    const double tokens = static_cast<double>(batch) * s.context;
    // Per layer and token the tape keeps: two norms' inputs, q k v, the heads, the wide layer
    // before and after its activation, the residual stream.
    const double kept = s.layers * tokens * (8 * s.dim + (s.wide + 1) * s.hidden);
    const double logits = 3 * tokens * s.vocab;
    const double sets = 3 + static_cast<double>(gradient_sets);
    constexpr double kLayer = 50e3;  // modules, names, entries of a tape, blocks of 64 bytes
    return 4 * (sets * parameter_count(config) + kept + logits) + kLayer * s.layers;
}

double step_flops(const GPTConfig& config, std::int64_t batch) {
    const Sizes s(config);
    const double weights = s.layers * s.weights + s.dim * s.vocab;
    const double pairs = s.context * (s.context + 1) / 2;
    const double forward =
        2 * weights * s.context + 4 * s.layers * s.dim * pairs;  // of one sequence
    return 3 * forward * static_cast<double>(batch);
}

}  // namespace tapestry
